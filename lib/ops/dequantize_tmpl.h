/* Elements of a byte to float32 without the way through double: differences of bytes are exact, so there is one rounding
 * either way. FN its name, T the type. */
static void FN(const struct quantize_job *job, struct ox_stretch s, float *out)
{
    const T *in = (const T *)job->x->data + s.at;
    const double *scales = job->scale + s.scale, *zeros = job->zero ? job->zero + s.scale : NULL;
    if (s.step) {
        for (size_t i = 0; i < s.n; i++) {
            const int zero = zeros ? (int)zeros[i * s.step] : 0;
            out[i] = (float)(in[i] - zero) * (float)scales[i * s.step];
        }
        return;
    }
    const int zero = zeros ? (int)zeros[0] : 0;
    const float scale = (float)scales[0];
    for (size_t i = 0; i < s.n; i++)
        out[i] = (float)(in[i] - zero) * scale;
}
#undef FN
#undef T
