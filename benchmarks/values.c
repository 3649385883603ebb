/* SPDX-License-Identifier: MIT */
#include "values.h"

void values_fill(float *values, size_t count, uint32_t seed)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t h = (uint32_t)i * 2654435761u + seed * 2246822519u;
        h = (h ^ (h >> 16)) * 3266489917u;
        h ^= h >> 13;
        values[i] = (float)(h >> 8) * 0x1p-23f - 1.0f;
    }
}
