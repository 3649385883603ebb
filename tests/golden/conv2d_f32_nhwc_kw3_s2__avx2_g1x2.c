/* 3 kernel columns, unrolled, stride 2; tile of 1 x 2 (rows x columns).
 * Registers: 2 accumulators + 1 inputs + 3 weights + 1 others = 7 of 16; masks: 0 of 0.
 * Per tap: 2 FMAs, 3 loads.  Spec: {3, 2} x {1, 2}. */
TARGET void conv2d_f32_nhwc_kw3_s2__avx2_g1x2(const conv2d_tile *tile) {
    const ptrdiff_t in_row_pitch = tile->in_row_pitch, column_pitch = tile->tap_pitch;
    const ptrdiff_t out_column_pitch = tile->out_column_pitch;
    const uint32_t rows0 = tile->row_count[0];
    const ptrdiff_t in_row0 = tile->row_begin[0] * in_row_pitch;
    const ptrdiff_t kernel_row0 = tile->row_begin[0] * 48;
    const float *place = tile->in;
    float *to = tile->out;
    for (size_t vector = tile->vectors; vector != 0; vector--) {
        for (size_t i = 0; i < tile->channels; i++) {
            const size_t channel = tile->backwards ? tile->channels - 1 - i : i;
            const float *in = place + (ptrdiff_t)channel * tile->in_vector;
            const float *bias = tile->bias + channel * 8;
            const float *weights = tile->weights + (ptrdiff_t)(channel / 2) * tile->weights_skip + channel % 2 * 8;
            float *out = to + channel * 8;
            __m256 acc0 = _mm256_loadu_ps(bias);
            __m256 acc1 = _mm256_loadu_ps(bias);
            __m256i lane_from = _mm256_loadu_si256((const __m256i *)tile->lane_from);
            for (size_t ic = tile->in_channels; ic != 0; ic--) {
                {
                    const float *row = in + in_row0, *taps = weights + kernel_row0;
                    for (uint32_t n = rows0; n != 0; n--) {
                        __m256 weight0_0 = _mm256_loadu_ps(taps + 0);
                        PIN(weight0_0);
                        __m256 weight0_1 = _mm256_loadu_ps(taps + 16);
                        PIN(weight0_1);
                        __m256 weight0_2 = _mm256_loadu_ps(taps + 32);
                        PIN(weight0_2);
                        const float *column = row;
                        {
                            __m256 input;
                            input = _mm256_permutevar8x32_ps(_mm256_loadu_ps(column), lane_from);
                            PIN(input);
                            acc0 = _mm256_fmadd_ps(input, weight0_0, acc0);
                            PIN(acc0);
                        }
                        column += column_pitch;
                        OPAQUE(column);
                        {
                            __m256 input;
                            input = _mm256_permutevar8x32_ps(_mm256_loadu_ps(column), lane_from);
                            PIN(input);
                            acc0 = _mm256_fmadd_ps(input, weight0_1, acc0);
                            PIN(acc0);
                        }
                        column += column_pitch;
                        OPAQUE(column);
                        {
                            __m256 input;
                            input = _mm256_permutevar8x32_ps(_mm256_loadu_ps(column), lane_from);
                            PIN(input);
                            acc0 = _mm256_fmadd_ps(input, weight0_2, acc0);
                            acc1 = _mm256_fmadd_ps(input, weight0_0, acc1);
                            PIN(acc0);
                            PIN(acc1);
                        }
                        column += column_pitch;
                        OPAQUE(column);
                        {
                            __m256 input;
                            input = _mm256_permutevar8x32_ps(_mm256_loadu_ps(column), lane_from);
                            PIN(input);
                            acc1 = _mm256_fmadd_ps(input, weight0_1, acc1);
                            PIN(acc1);
                        }
                        column += column_pitch;
                        OPAQUE(column);
                        {
                            __m256 input;
                            input = _mm256_permutevar8x32_ps(_mm256_loadu_ps(column), lane_from);
                            PIN(input);
                            acc1 = _mm256_fmadd_ps(input, weight0_2, acc1);
                            PIN(acc1);
                        }
                        row += in_row_pitch;
                        taps += 48;
                    }
                }
                lane_from = _mm256_add_epi32(lane_from, _mm256_set1_epi32(1));
                weights += tile->weights_channel;
            }
            OPAQUE(tile);
            if (tile->residual) {
                const float *residual = tile->residual + (out - tile->out);
                acc0 = _mm256_add_ps(acc0, _mm256_loadu_ps(residual));
                residual += out_column_pitch;
                OPAQUE(residual);
                acc1 = _mm256_add_ps(acc1, _mm256_loadu_ps(residual));
            }
            if (tile->activation == CONV2D_CLAMP) {
                const __m256 low = _mm256_set1_ps(tile->act_a), high = _mm256_set1_ps(tile->act_b);
                acc0 = _mm256_min_ps(high, _mm256_max_ps(low, acc0));
                acc1 = _mm256_min_ps(high, _mm256_max_ps(low, acc1));
            }
            if (tile->activation == CONV2D_LEAKY_RELU) {
                const __m256 slope = _mm256_set1_ps(tile->act_a), zero = _mm256_setzero_ps();
                acc0 = _mm256_blendv_ps(acc0, _mm256_mul_ps(slope, acc0), _mm256_cmp_ps(acc0, zero, _CMP_LT_OQ));
                acc1 = _mm256_blendv_ps(acc1, _mm256_mul_ps(slope, acc1), _mm256_cmp_ps(acc1, zero, _CMP_LT_OQ));
            }
            OPAQUE(tile);
            float *store = out;
            _mm256_storeu_ps(store, acc0);
            store += out_column_pitch;
            OPAQUE(store);
            _mm256_storeu_ps(store, acc1);
        }
        place += 4 * column_pitch;
        to += 2 * tile->out_column_pitch;
    }
    END_VECTORS;
}

