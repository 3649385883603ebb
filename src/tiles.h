/* SPDX-License-Identifier: MIT */
/* A kernel's tiles, found by their size; what the loops of the families share. */
#ifndef CONV2D_TILES_H
#define CONV2D_TILES_H

#include "plan.h"

/* Edge tiles need a mask register for each vector. */
enum { MAX_TILE_CHANNELS = 16, MAX_TILE_COLUMNS = 14, MAX_EDGE_VECTORS = 6 };

typedef struct tile_grid {
    const conv2d_tile_row *tile[MAX_TILE_CHANNELS + 1][MAX_TILE_COLUMNS + 1];
} tile_grid;

static inline void fill_grid(tile_grid *grid, const conv2d_kernel *kernel)
{
    *grid = (tile_grid){0};
    for (size_t i = 0; i < kernel->tile_count; i++)
        grid->tile[kernel->tiles[i].channels][kernel->tiles[i].columns] = &kernel->tiles[i];
}

/* The largest number of channels, at most `limit` and at most `most`, for which the kernel has a tile. */
static inline size_t widest_channels(const tile_grid *grid, size_t limit, size_t most)
{
    size_t channels = min_size(limit, most);
    while (channels > 1 && !grid->tile[channels][1])
        channels--;
    return channels;
}

/* The same for edge tiles so many vectors of columns wide; 0 if there is none. */
static inline size_t widest_edge(const tile_grid *grid, size_t limit, size_t vectors)
{
    size_t channels = min_size(limit, MAX_TILE_CHANNELS);
    while (channels > 0 && !(grid->tile[channels][vectors] && grid->tile[channels][vectors]->variant[CONV2D_BOTH]))
        channels--;
    return channels;
}

/* The widest tile of so many channels for at most `vectors` vectors of columns. */
static inline size_t widest_columns(const tile_grid *grid, size_t channels, size_t vectors)
{
    size_t width = min_size(vectors, MAX_TILE_COLUMNS);
    while (width > 1 && !grid->tile[channels][width])
        width--;
    return width;
}

/* The fields of a tile that stay the same for a whole run. */
static inline conv2d_tile common_tile(const problem *p)
{
    return (conv2d_tile){
        .kernel_width = p->kernel_width,
        .out_channel_pitch = p->out.channel,
        .activation = p->activation,
        .act_a = p->act_a,
        .act_b = p->act_b,
    };
}

#endif
