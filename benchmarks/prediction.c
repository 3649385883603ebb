/* SPDX-License-Identifier: MIT */
#include "prediction.h"

#include <math.h>
#include <string.h>

static bool find_kernel(const char *name, conv2d_kernel_info *info)
{
    for (size_t i = 0; conv2d_kernel_at(i, info); i++)
        if (strcmp(info->name, name) == 0)
            return true;
    return false;
}

/* Loads of whole vectors among a tile's loads per tap; the others are broadcasts. */
static double vector_loads(const conv2d_kernel_info *k)
{
    const double lanes = (double)k->lanes;
    const double vectors = strcmp(k->family, "w") == 0 ? (double)k->tile_columns / lanes
                           : strchr("kf", *k->family)  ? (double)k->tile_channels / lanes
                                                       : (double)k->loads;
    return vectors < (double)k->loads ? vectors : (double)k->loads;
}

bool prediction_make(prediction *p, const conv2d_plan *plan, const workload *load, const limits *machine,
                     double peak_gflops, double slots, double wide_fmas)
{
    enum { BROADCAST_BYTES = 32 };
    conv2d_kernel_info *const k = &p->kernel;
    if (!find_kernel(conv2d_kernel_name(plan), k) || strcmp(k->family, "reference") == 0)
        return false;
    const double lanes = (double)k->lanes, tile_loads = (double)k->loads, tile_fmas = (double)k->fmas;
    p->fmas = load->valid_flops / 2 / lanes;
    p->loads = p->fmas * tile_loads / tile_fmas;
    p->stores = (double)load->outputs / lanes;
    const double vectors = vector_loads(k);
    const double bytes = vectors * lanes * sizeof(float) + (tile_loads - vectors) * BROADCAST_BYTES;
    p->load_bytes = p->fmas / tile_fmas * bytes;
    p->bytes = load->read_bytes + load->write_bytes;
    p->level = find_memory_level(machine->levels, p->bytes);
    p->fma_seconds = load->valid_flops / (peak_gflops * 1e9);
    p->load_seconds = p->load_bytes / machine->levels[0].bandwidth[TRAFFIC_READ];
    p->byte_seconds = memory_seconds(p->level, load->read_bytes, load->write_bytes);
    p->seconds = p->fma_seconds / conv2d_predicted_efficiency(plan);
    const double fmas_per_cycle = k->lanes == 16 ? round(wide_fmas) : 2;
    p->least_retiring = slots > 0 && fmas_per_cycle > 0 ? fmas_per_cycle / slots : NAN;
    p->most_retiring = p->least_retiring * (1 + tile_loads / tile_fmas);
    return true;
}

const char *prediction_bound(const prediction *p)
{
    return p->byte_seconds > p->fma_seconds ? "memory" : p->load_seconds > p->fma_seconds ? "loads" : "FMAs";
}

void json_prediction(json *j, const prediction *p)
{
    if (!p) {
        json_string(j, "prediction", NULL);
        return;
    }
    json_open(j, "prediction", '{');
    const json_figure figures[] = {
        {"fmas", p->fmas},
        {"loads", p->loads},
        {"stores", p->stores},
        {"load_bytes", p->load_bytes},
        {"bytes", p->bytes},
        {"fma_seconds", p->fma_seconds},
        {"load_seconds", p->load_seconds},
        {"byte_seconds", p->byte_seconds},
        {"seconds", p->seconds},
        {"least_retiring", p->least_retiring},
        {"most_retiring", p->most_retiring},
    };
    json_figures(j, figures, sizeof figures / sizeof *figures);
    json_string(j, "level", p->level->name);
    json_string(j, "bound", prediction_bound(p));
    json_close(j, '}');
}
