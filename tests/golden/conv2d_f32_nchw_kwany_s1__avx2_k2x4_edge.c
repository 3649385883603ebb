/* any number of kernel columns, stride 1; tile of 2 x 4 (vectors of channels x columns).
 * Registers: 8 accumulators + 1 inputs + 2 weights + 0 others = 11 of 16; masks: 0 of 0.
 * Per tap: 8 FMAs, 6 loads.  Spec: {0, 1} x {2, 4}. */
TARGET void conv2d_f32_nchw_kwany_s1__avx2_k2x4_edge(const conv2d_tile *tile) {
    const float *in = tile->in, *weights = tile->weights;
    const ptrdiff_t in_channel_pitch = tile->in_channel_pitch, in_row_pitch = tile->in_row_pitch;
    const ptrdiff_t weights_skip = tile->weights_skip;
    const ptrdiff_t vector1 = tile->weights_vector[1];
    const ptrdiff_t tap_pitch = tile->tap_pitch;
    const size_t kernel_width = tile->kernel_width;
    const ptrdiff_t column_step = tile->column_step, in_width = tile->in_width;
    const ptrdiff_t last_column = 3 * column_step;
    __m256 acc0_0 = _mm256_loadu_ps(tile->bias + 0);
    __m256 acc0_1 = _mm256_loadu_ps(tile->bias + 0);
    __m256 acc0_2 = _mm256_loadu_ps(tile->bias + 0);
    __m256 acc0_3 = _mm256_loadu_ps(tile->bias + 0);
    __m256 acc1_0 = _mm256_loadu_ps(tile->bias + 8);
    __m256 acc1_1 = _mm256_loadu_ps(tile->bias + 8);
    __m256 acc1_2 = _mm256_loadu_ps(tile->bias + 8);
    __m256 acc1_3 = _mm256_loadu_ps(tile->bias + 8);
    if (tile->accumulate) {
        acc0_0 = _mm256_loadu_ps(tile->out + 0);
        acc0_1 = _mm256_loadu_ps(tile->out + 16);
        acc0_2 = _mm256_loadu_ps(tile->out + 32);
        acc0_3 = _mm256_loadu_ps(tile->out + 48);
        acc1_0 = _mm256_loadu_ps(tile->out + 8);
        acc1_1 = _mm256_loadu_ps(tile->out + 24);
        acc1_2 = _mm256_loadu_ps(tile->out + 40);
        acc1_3 = _mm256_loadu_ps(tile->out + 56);
    }
    for (size_t channel = tile->in_channels; channel != 0; channel--) {
        const float *row = in;
        size_t kernel_row = tile->kernel_rows;
        do {
            const float *taps = row;
            size_t kernel_column = kernel_width;
            ptrdiff_t column = tile->column;
            do {
                OPAQUE(taps);
                const __m256 weight0 = _mm256_loadu_ps(weights + 0);
                const __m256 weight1 = _mm256_loadu_ps(weights + vector1 + 0);
                if (column >= 0 && column + last_column < in_width) {
                    {
                        const __m256 in0 = _mm256_set1_ps(taps[0]);
                        acc0_0 = _mm256_fmadd_ps(in0, weight0, acc0_0);
                        acc1_0 = _mm256_fmadd_ps(in0, weight1, acc1_0);
                    }
                    {
                        const __m256 in0 = _mm256_set1_ps(taps[1]);
                        acc0_1 = _mm256_fmadd_ps(in0, weight0, acc0_1);
                        acc1_1 = _mm256_fmadd_ps(in0, weight1, acc1_1);
                    }
                    {
                        const __m256 in0 = _mm256_set1_ps(taps[2]);
                        acc0_2 = _mm256_fmadd_ps(in0, weight0, acc0_2);
                        acc1_2 = _mm256_fmadd_ps(in0, weight1, acc1_2);
                    }
                    {
                        const __m256 in0 = _mm256_set1_ps(taps[3]);
                        acc0_3 = _mm256_fmadd_ps(in0, weight0, acc0_3);
                        acc1_3 = _mm256_fmadd_ps(in0, weight1, acc1_3);
                    }
                } else if (column + column_step >= 0 && column + last_column < in_width) {
                    {
                        const __m256 in0 = _mm256_set1_ps(taps[1]);
                        acc0_1 = _mm256_fmadd_ps(in0, weight0, acc0_1);
                        acc1_1 = _mm256_fmadd_ps(in0, weight1, acc1_1);
                    }
                    {
                        const __m256 in0 = _mm256_set1_ps(taps[2]);
                        acc0_2 = _mm256_fmadd_ps(in0, weight0, acc0_2);
                        acc1_2 = _mm256_fmadd_ps(in0, weight1, acc1_2);
                    }
                    {
                        const __m256 in0 = _mm256_set1_ps(taps[3]);
                        acc0_3 = _mm256_fmadd_ps(in0, weight0, acc0_3);
                        acc1_3 = _mm256_fmadd_ps(in0, weight1, acc1_3);
                    }
                } else if (column >= 0 && column + last_column - column_step < in_width) {
                    {
                        const __m256 in0 = _mm256_set1_ps(taps[0]);
                        acc0_0 = _mm256_fmadd_ps(in0, weight0, acc0_0);
                        acc1_0 = _mm256_fmadd_ps(in0, weight1, acc1_0);
                    }
                    {
                        const __m256 in0 = _mm256_set1_ps(taps[1]);
                        acc0_1 = _mm256_fmadd_ps(in0, weight0, acc0_1);
                        acc1_1 = _mm256_fmadd_ps(in0, weight1, acc1_1);
                    }
                    {
                        const __m256 in0 = _mm256_set1_ps(taps[2]);
                        acc0_2 = _mm256_fmadd_ps(in0, weight0, acc0_2);
                        acc1_2 = _mm256_fmadd_ps(in0, weight1, acc1_2);
                    }
                } else {
                    if ((size_t)(column + 0 * column_step) < (size_t)in_width) {
                        {
                            const __m256 in0 = _mm256_set1_ps(taps[0]);
                            acc0_0 = _mm256_fmadd_ps(in0, weight0, acc0_0);
                            acc1_0 = _mm256_fmadd_ps(in0, weight1, acc1_0);
                        }
                    }
                    if ((size_t)(column + 1 * column_step) < (size_t)in_width) {
                        {
                            const __m256 in0 = _mm256_set1_ps(taps[1]);
                            acc0_1 = _mm256_fmadd_ps(in0, weight0, acc0_1);
                            acc1_1 = _mm256_fmadd_ps(in0, weight1, acc1_1);
                        }
                    }
                    if ((size_t)(column + 2 * column_step) < (size_t)in_width) {
                        {
                            const __m256 in0 = _mm256_set1_ps(taps[2]);
                            acc0_2 = _mm256_fmadd_ps(in0, weight0, acc0_2);
                            acc1_2 = _mm256_fmadd_ps(in0, weight1, acc1_2);
                        }
                    }
                    if ((size_t)(column + 3 * column_step) < (size_t)in_width) {
                        {
                            const __m256 in0 = _mm256_set1_ps(taps[3]);
                            acc0_3 = _mm256_fmadd_ps(in0, weight0, acc0_3);
                            acc1_3 = _mm256_fmadd_ps(in0, weight1, acc1_3);
                        }
                    }
                }
                column += tile->column_tap_step;
                taps += tap_pitch;
                weights += 16;
            } while (--kernel_column != 0);
            row += in_row_pitch;
        } while (--kernel_row != 0);
        in += in_channel_pitch;
        weights += weights_skip;
    }
    float *out = tile->out;
    _mm256_storeu_ps(out + 0, acc0_0);
    _mm256_storeu_ps(out + 8, acc1_0);
    _mm256_storeu_ps(out + 16, acc0_1);
    _mm256_storeu_ps(out + 24, acc1_1);
    _mm256_storeu_ps(out + 32, acc0_2);
    _mm256_storeu_ps(out + 40, acc1_2);
    _mm256_storeu_ps(out + 48, acc0_3);
    _mm256_storeu_ps(out + 56, acc1_3);
}

