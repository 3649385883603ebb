/* 3 kernel columns, unrolled, stride 1; tile of 4 x 3 (channels x vectors of columns).
 * Registers: 12 accumulators + 3 inputs + 1 weights + 0 others = 16 of 32; masks: 0 of 7.
 * Per tap: 12 FMAs, 7 loads.  Spec: {3, 1} x {4, 3}. */
TARGET void conv2d_f32_nchw_kw3_s1__avx512_w4x3(const conv2d_tile *tile) {
    const ptrdiff_t in_channel_pitch = tile->in_channel_pitch, out_channel_pitch = tile->out_channel_pitch;
    const ptrdiff_t weights_skip = tile->weights_skip;
    const float *prefetch_out = tile->prefetch_out;
    const ptrdiff_t in_row_pitch = tile->in_row_pitch, prefetch_in = tile->prefetch_in;
    const float *in = tile->in, *weights = tile->weights;
    __m512 acc0_0;
    __m512 acc0_1;
    __m512 acc0_2;
    __m512 acc1_0;
    __m512 acc1_1;
    __m512 acc1_2;
    __m512 acc2_0;
    __m512 acc2_1;
    __m512 acc2_2;
    __m512 acc3_0;
    __m512 acc3_1;
    __m512 acc3_2;
    if (tile->accumulate) {
        const float *sums = tile->out;
        acc0_0 = _mm512_loadu_ps(sums + 0);
        acc0_1 = _mm512_loadu_ps(sums + 16);
        acc0_2 = _mm512_loadu_ps(sums + 32);
        sums += out_channel_pitch;
        acc1_0 = _mm512_loadu_ps(sums + 0);
        acc1_1 = _mm512_loadu_ps(sums + 16);
        acc1_2 = _mm512_loadu_ps(sums + 32);
        sums += out_channel_pitch;
        acc2_0 = _mm512_loadu_ps(sums + 0);
        acc2_1 = _mm512_loadu_ps(sums + 16);
        acc2_2 = _mm512_loadu_ps(sums + 32);
        sums += out_channel_pitch;
        acc3_0 = _mm512_loadu_ps(sums + 0);
        acc3_1 = _mm512_loadu_ps(sums + 16);
        acc3_2 = _mm512_loadu_ps(sums + 32);
    } else {
        acc0_0 = _mm512_set1_ps(tile->bias[0]);
        acc0_1 = acc0_0;
        acc0_2 = acc0_0;
        acc1_0 = _mm512_set1_ps(tile->bias[1]);
        acc1_1 = acc1_0;
        acc1_2 = acc1_0;
        acc2_0 = _mm512_set1_ps(tile->bias[2]);
        acc2_1 = acc2_0;
        acc2_2 = acc2_0;
        acc3_0 = _mm512_set1_ps(tile->bias[3]);
        acc3_1 = acc3_0;
        acc3_2 = acc3_0;
    }
    if (tile->residual) {
        const float *residual = tile->residual;
        for (int k = 0; k < 4; k++, residual += out_channel_pitch) {
            __builtin_prefetch(residual + 0, 0, 3);
            __builtin_prefetch(residual + 16, 0, 3);
            __builtin_prefetch(residual + 32, 0, 3);
        }
    }
    for (size_t channel = tile->in_channels; channel != 0; channel--) {
        const float *row = in;
        size_t kernel_row = tile->kernel_rows;
        do {
            {
                __m512 in0 = _mm512_loadu_ps(row + 0);
                KEEP(in0);
                __m512 in1 = _mm512_loadu_ps(row + 16);
                KEEP(in1);
                __m512 in2 = _mm512_loadu_ps(row + 32);
                KEEP(in2);
                const __m512 weight0 = _mm512_set1_ps(weights[0]);
                acc0_0 = _mm512_fmadd_ps(in0, weight0, acc0_0);
                acc0_1 = _mm512_fmadd_ps(in1, weight0, acc0_1);
                acc0_2 = _mm512_fmadd_ps(in2, weight0, acc0_2);
                const __m512 weight1 = _mm512_set1_ps(weights[1]);
                acc1_0 = _mm512_fmadd_ps(in0, weight1, acc1_0);
                acc1_1 = _mm512_fmadd_ps(in1, weight1, acc1_1);
                acc1_2 = _mm512_fmadd_ps(in2, weight1, acc1_2);
                const __m512 weight2 = _mm512_set1_ps(weights[2]);
                acc2_0 = _mm512_fmadd_ps(in0, weight2, acc2_0);
                acc2_1 = _mm512_fmadd_ps(in1, weight2, acc2_1);
                acc2_2 = _mm512_fmadd_ps(in2, weight2, acc2_2);
                const __m512 weight3 = _mm512_set1_ps(weights[3]);
                acc3_0 = _mm512_fmadd_ps(in0, weight3, acc3_0);
                acc3_1 = _mm512_fmadd_ps(in1, weight3, acc3_1);
                acc3_2 = _mm512_fmadd_ps(in2, weight3, acc3_2);
            }
            {
                __m512 in0 = _mm512_loadu_ps(row + 1);
                KEEP(in0);
                __m512 in1 = _mm512_loadu_ps(row + 17);
                KEEP(in1);
                __m512 in2 = _mm512_loadu_ps(row + 33);
                KEEP(in2);
                const __m512 weight0 = _mm512_set1_ps(weights[16]);
                acc0_0 = _mm512_fmadd_ps(in0, weight0, acc0_0);
                acc0_1 = _mm512_fmadd_ps(in1, weight0, acc0_1);
                acc0_2 = _mm512_fmadd_ps(in2, weight0, acc0_2);
                const __m512 weight1 = _mm512_set1_ps(weights[17]);
                acc1_0 = _mm512_fmadd_ps(in0, weight1, acc1_0);
                acc1_1 = _mm512_fmadd_ps(in1, weight1, acc1_1);
                acc1_2 = _mm512_fmadd_ps(in2, weight1, acc1_2);
                const __m512 weight2 = _mm512_set1_ps(weights[18]);
                acc2_0 = _mm512_fmadd_ps(in0, weight2, acc2_0);
                acc2_1 = _mm512_fmadd_ps(in1, weight2, acc2_1);
                acc2_2 = _mm512_fmadd_ps(in2, weight2, acc2_2);
                const __m512 weight3 = _mm512_set1_ps(weights[19]);
                acc3_0 = _mm512_fmadd_ps(in0, weight3, acc3_0);
                acc3_1 = _mm512_fmadd_ps(in1, weight3, acc3_1);
                acc3_2 = _mm512_fmadd_ps(in2, weight3, acc3_2);
            }
            {
                __m512 in0 = _mm512_loadu_ps(row + 2);
                KEEP(in0);
                __m512 in1 = _mm512_loadu_ps(row + 18);
                KEEP(in1);
                __m512 in2 = _mm512_loadu_ps(row + 34);
                KEEP(in2);
                const __m512 weight0 = _mm512_set1_ps(weights[32]);
                acc0_0 = _mm512_fmadd_ps(in0, weight0, acc0_0);
                acc0_1 = _mm512_fmadd_ps(in1, weight0, acc0_1);
                acc0_2 = _mm512_fmadd_ps(in2, weight0, acc0_2);
                const __m512 weight1 = _mm512_set1_ps(weights[33]);
                acc1_0 = _mm512_fmadd_ps(in0, weight1, acc1_0);
                acc1_1 = _mm512_fmadd_ps(in1, weight1, acc1_1);
                acc1_2 = _mm512_fmadd_ps(in2, weight1, acc1_2);
                const __m512 weight2 = _mm512_set1_ps(weights[34]);
                acc2_0 = _mm512_fmadd_ps(in0, weight2, acc2_0);
                acc2_1 = _mm512_fmadd_ps(in1, weight2, acc2_1);
                acc2_2 = _mm512_fmadd_ps(in2, weight2, acc2_2);
                const __m512 weight3 = _mm512_set1_ps(weights[35]);
                acc3_0 = _mm512_fmadd_ps(in0, weight3, acc3_0);
                acc3_1 = _mm512_fmadd_ps(in1, weight3, acc3_1);
                acc3_2 = _mm512_fmadd_ps(in2, weight3, acc3_2);
            }
            weights += 48;
            row += in_row_pitch;
        } while (--kernel_row != 0);
        __builtin_prefetch(in + prefetch_in + 16, 0, 3);
        __builtin_prefetch(in + prefetch_in + 32, 0, 3);
        __builtin_prefetch(in + prefetch_in + 48, 0, 3);
        __builtin_prefetch(prefetch_out + 0, 1, 3);
        __builtin_prefetch(prefetch_out + 16, 1, 3);
        __builtin_prefetch(prefetch_out + 32, 1, 3);
        prefetch_out += channel <= 4 ? out_channel_pitch : 0;
        in += in_channel_pitch;
        weights += weights_skip;
    }
    if (tile->residual) {
        const float *residual = tile->residual;
        acc0_0 = _mm512_add_ps(acc0_0, _mm512_loadu_ps(residual + 0));
        acc0_1 = _mm512_add_ps(acc0_1, _mm512_loadu_ps(residual + 16));
        acc0_2 = _mm512_add_ps(acc0_2, _mm512_loadu_ps(residual + 32));
        residual += out_channel_pitch;
        acc1_0 = _mm512_add_ps(acc1_0, _mm512_loadu_ps(residual + 0));
        acc1_1 = _mm512_add_ps(acc1_1, _mm512_loadu_ps(residual + 16));
        acc1_2 = _mm512_add_ps(acc1_2, _mm512_loadu_ps(residual + 32));
        residual += out_channel_pitch;
        acc2_0 = _mm512_add_ps(acc2_0, _mm512_loadu_ps(residual + 0));
        acc2_1 = _mm512_add_ps(acc2_1, _mm512_loadu_ps(residual + 16));
        acc2_2 = _mm512_add_ps(acc2_2, _mm512_loadu_ps(residual + 32));
        residual += out_channel_pitch;
        acc3_0 = _mm512_add_ps(acc3_0, _mm512_loadu_ps(residual + 0));
        acc3_1 = _mm512_add_ps(acc3_1, _mm512_loadu_ps(residual + 16));
        acc3_2 = _mm512_add_ps(acc3_2, _mm512_loadu_ps(residual + 32));
    }
    if (tile->activation == CONV2D_CLAMP) {
        const __m512 low = _mm512_set1_ps(tile->act_a), high = _mm512_set1_ps(tile->act_b);
        acc0_0 = _mm512_min_ps(high, _mm512_max_ps(low, acc0_0));
        acc0_1 = _mm512_min_ps(high, _mm512_max_ps(low, acc0_1));
        acc0_2 = _mm512_min_ps(high, _mm512_max_ps(low, acc0_2));
        acc1_0 = _mm512_min_ps(high, _mm512_max_ps(low, acc1_0));
        acc1_1 = _mm512_min_ps(high, _mm512_max_ps(low, acc1_1));
        acc1_2 = _mm512_min_ps(high, _mm512_max_ps(low, acc1_2));
        acc2_0 = _mm512_min_ps(high, _mm512_max_ps(low, acc2_0));
        acc2_1 = _mm512_min_ps(high, _mm512_max_ps(low, acc2_1));
        acc2_2 = _mm512_min_ps(high, _mm512_max_ps(low, acc2_2));
        acc3_0 = _mm512_min_ps(high, _mm512_max_ps(low, acc3_0));
        acc3_1 = _mm512_min_ps(high, _mm512_max_ps(low, acc3_1));
        acc3_2 = _mm512_min_ps(high, _mm512_max_ps(low, acc3_2));
    }
    if (tile->activation == CONV2D_LEAKY_RELU) {
        const __m512 slope = _mm512_set1_ps(tile->act_a), zero = _mm512_setzero_ps();
        acc0_0 = _mm512_mask_mul_ps(acc0_0, _mm512_cmp_ps_mask(acc0_0, zero, _CMP_LT_OQ), slope, acc0_0);
        acc0_1 = _mm512_mask_mul_ps(acc0_1, _mm512_cmp_ps_mask(acc0_1, zero, _CMP_LT_OQ), slope, acc0_1);
        acc0_2 = _mm512_mask_mul_ps(acc0_2, _mm512_cmp_ps_mask(acc0_2, zero, _CMP_LT_OQ), slope, acc0_2);
        acc1_0 = _mm512_mask_mul_ps(acc1_0, _mm512_cmp_ps_mask(acc1_0, zero, _CMP_LT_OQ), slope, acc1_0);
        acc1_1 = _mm512_mask_mul_ps(acc1_1, _mm512_cmp_ps_mask(acc1_1, zero, _CMP_LT_OQ), slope, acc1_1);
        acc1_2 = _mm512_mask_mul_ps(acc1_2, _mm512_cmp_ps_mask(acc1_2, zero, _CMP_LT_OQ), slope, acc1_2);
        acc2_0 = _mm512_mask_mul_ps(acc2_0, _mm512_cmp_ps_mask(acc2_0, zero, _CMP_LT_OQ), slope, acc2_0);
        acc2_1 = _mm512_mask_mul_ps(acc2_1, _mm512_cmp_ps_mask(acc2_1, zero, _CMP_LT_OQ), slope, acc2_1);
        acc2_2 = _mm512_mask_mul_ps(acc2_2, _mm512_cmp_ps_mask(acc2_2, zero, _CMP_LT_OQ), slope, acc2_2);
        acc3_0 = _mm512_mask_mul_ps(acc3_0, _mm512_cmp_ps_mask(acc3_0, zero, _CMP_LT_OQ), slope, acc3_0);
        acc3_1 = _mm512_mask_mul_ps(acc3_1, _mm512_cmp_ps_mask(acc3_1, zero, _CMP_LT_OQ), slope, acc3_1);
        acc3_2 = _mm512_mask_mul_ps(acc3_2, _mm512_cmp_ps_mask(acc3_2, zero, _CMP_LT_OQ), slope, acc3_2);
    }
    float *out = tile->out;
    _mm512_storeu_ps(out + 0, acc0_0);
    _mm512_storeu_ps(out + 16, acc0_1);
    _mm512_storeu_ps(out + 32, acc0_2);
    out += out_channel_pitch;
    _mm512_storeu_ps(out + 0, acc1_0);
    _mm512_storeu_ps(out + 16, acc1_1);
    _mm512_storeu_ps(out + 32, acc1_2);
    out += out_channel_pitch;
    _mm512_storeu_ps(out + 0, acc2_0);
    _mm512_storeu_ps(out + 16, acc2_1);
    _mm512_storeu_ps(out + 32, acc2_2);
    out += out_channel_pitch;
    _mm512_storeu_ps(out + 0, acc3_0);
    _mm512_storeu_ps(out + 16, acc3_1);
    _mm512_storeu_ps(out + 32, acc3_2);
    END_VECTORS;
}

