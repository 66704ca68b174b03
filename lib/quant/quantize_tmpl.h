/* Included once for each integer type: QUANT_TYPE, QUANT_NAME(x). No include guard, for that reason. */

static void QUANT_NAME(quantize)(const float *restrict in, size_t n, struct ox_qparam pair,
                                 int32_t least, int32_t most, void *out_)
{
    /* Adding and taking away 1.5 * 2^23 rounds half to even what lies within 2^22. Clipping first gives the same, for the
     * limits are whole numbers. */
    const float magic = 12582912.0f;
    const float low = (float)(least - pair.zero), high = (float)(most - pair.zero);
    QUANT_TYPE *restrict out = out_;
    for (size_t i = 0; i < n; i++) {
        float v = in[i] / pair.scale;
        v = v > low ? v : low;
        v = v < high ? v : high;
        v = (v + magic) - magic;
        out[i] = (QUANT_TYPE)((int32_t)v + pair.zero);
    }
}

static void QUANT_NAME(dequantize)(const void *in_, size_t n, struct ox_qparam pair,
                                   float *restrict out)
{
    const QUANT_TYPE *restrict in = in_;
    for (size_t i = 0; i < n; i++)
        out[i] = (float)(in[i] - pair.zero) * pair.scale;
}

#undef QUANT_TYPE
#undef QUANT_NAME
