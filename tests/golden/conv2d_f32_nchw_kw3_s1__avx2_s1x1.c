/* 3 kernel columns, unrolled, stride 1; tile of 1 x 1 (rows x vectors of columns).
 * Registers: 1 accumulators + 1 inputs + 9 weights + 0 others = 11 of 16; masks: 0 of 0.
 * Per tap: 1 FMAs, 2 loads.  Spec: {3, 1} x {1, 1}. */
TARGET void conv2d_f32_nchw_kw3_s1__avx2_s1x1(const conv2d_tile *tile) {
    const float *in = tile->in, *first_weights = tile->weights, *bias = tile->bias;
    float *out = tile->out;
    const ptrdiff_t in_row_pitch = tile->in_row_pitch;
    const uint32_t rows = tile->rows;
    const ptrdiff_t in_plane_pitch = tile->in_plane_pitch;
    const ptrdiff_t prefetch_in = tile->prefetch_in;
    size_t left = tile->block_repeats;
    for (size_t channel = tile->channels; channel != 0; channel--) {
        const float *columns = in;
        float *to = out;
        for (size_t vector = tile->vectors; vector != 0; vector--) {
            OPAQUE(bias);
            __m256 acc0 = _mm256_set1_ps(*bias);
            const float *weights = first_weights, *plane = columns;
            const float *ahead = to + 16;
            __builtin_prefetch(ahead, 1, 3);
            for (size_t in_channel = tile->in_channels; in_channel != 0; in_channel--) {
                const __m256 weight0_0 = _mm256_set1_ps(weights[0]);
                const __m256 weight0_1 = _mm256_set1_ps(weights[16]);
                const __m256 weight0_2 = _mm256_set1_ps(weights[32]);
                const __m256 weight1_0 = _mm256_set1_ps(weights[48]);
                const __m256 weight1_1 = _mm256_set1_ps(weights[64]);
                const __m256 weight1_2 = _mm256_set1_ps(weights[80]);
                const __m256 weight2_0 = _mm256_set1_ps(weights[96]);
                const __m256 weight2_1 = _mm256_set1_ps(weights[112]);
                const __m256 weight2_2 = _mm256_set1_ps(weights[128]);
                const float *row = plane;
                if (rows >> 0 & 1) {
                    __builtin_prefetch(row + prefetch_in + 1, 0, 3);
                    __m256 in0_0 = _mm256_loadu_ps(row + 0);
                    PIN(in0_0);
                    acc0 = _mm256_fmadd_ps(in0_0, weight0_0, acc0);
                    __m256 in0_1 = _mm256_loadu_ps(row + 1);
                    PIN(in0_1);
                    acc0 = _mm256_fmadd_ps(in0_1, weight0_1, acc0);
                    __m256 in0_2 = _mm256_loadu_ps(row + 2);
                    PIN(in0_2);
                    acc0 = _mm256_fmadd_ps(in0_2, weight0_2, acc0);
                    PIN(acc0);
                }
                row += in_row_pitch;
                OPAQUE(row);
                {
                    __builtin_prefetch(row + prefetch_in + 1, 0, 3);
                    __m256 in1_0 = _mm256_loadu_ps(row + 0);
                    PIN(in1_0);
                    acc0 = _mm256_fmadd_ps(in1_0, weight1_0, acc0);
                    __m256 in1_1 = _mm256_loadu_ps(row + 1);
                    PIN(in1_1);
                    acc0 = _mm256_fmadd_ps(in1_1, weight1_1, acc0);
                    __m256 in1_2 = _mm256_loadu_ps(row + 2);
                    PIN(in1_2);
                    acc0 = _mm256_fmadd_ps(in1_2, weight1_2, acc0);
                    PIN(acc0);
                }
                row += in_row_pitch;
                OPAQUE(row);
                if (rows >> 2 & 1) {
                    __builtin_prefetch(row + prefetch_in + 1, 0, 3);
                    __m256 in2_0 = _mm256_loadu_ps(row + 0);
                    PIN(in2_0);
                    acc0 = _mm256_fmadd_ps(in2_0, weight2_0, acc0);
                    __m256 in2_1 = _mm256_loadu_ps(row + 1);
                    PIN(in2_1);
                    acc0 = _mm256_fmadd_ps(in2_1, weight2_1, acc0);
                    __m256 in2_2 = _mm256_loadu_ps(row + 2);
                    PIN(in2_2);
                    acc0 = _mm256_fmadd_ps(in2_2, weight2_2, acc0);
                    USE(acc0);
                }
                plane += in_plane_pitch;
                weights += 144;
            }
            OPAQUE(tile);
            if (tile->residual) {
                const float *residual = tile->residual + (to - tile->out);
                acc0 = _mm256_add_ps(acc0, _mm256_loadu_ps(residual));
            }
            if (tile->activation == CONV2D_CLAMP) {
                const __m256 low = _mm256_set1_ps(tile->act_a), high = _mm256_set1_ps(tile->act_b);
                acc0 = _mm256_min_ps(high, _mm256_max_ps(low, acc0));
            }
            if (tile->activation == CONV2D_LEAKY_RELU) {
                const __m256 slope = _mm256_set1_ps(tile->act_a), zero = _mm256_setzero_ps();
                acc0 = _mm256_blendv_ps(acc0, _mm256_mul_ps(slope, acc0), _mm256_cmp_ps(acc0, zero, _CMP_LT_OQ));
            }
            OPAQUE(tile);
            float *store = to;
            _mm256_storeu_ps(store, acc0);
            columns += 8;
            to += 8;
        }
        out += tile->out_channel_pitch;
        if (((channel - 1) & tile->sharing) == 0)
            in += tile->in_channel_pitch;
        bias++;
        first_weights++;
        if (--left == 0) {
            first_weights += tile->next_block;
            left = 16;
        }
    }
    END_VECTORS;
}

