/* Softmax LogSoftmax Hardmax of a type over `count` elements `inner` apart, for `lanes` neighbours at once. */
static void N(lane_maxima)(const T *in, size_t count, size_t inner, size_t lanes, T *max)
{
    for (size_t lane = 0; lane < lanes; lane++)
        max[lane] = in[lane];
    for (size_t i = 1; i < count; i++)
        for (size_t lane = 0; lane < lanes; lane++) {
            T x = in[i * inner + lane];
            max[lane] = x > max[lane] || x != x ? x : max[lane];
        }
}

static void N(softmax_lanes)(const void *from, size_t count, size_t inner, size_t lanes, void *to)
{
    const T *in = from;
    T *out = to, max[LANES];
    double sum[LANES] = {0};
    N(lane_maxima)(in, count, inner, lanes, max);
    for (size_t i = 0; i < count; i++)
        for (size_t lane = 0; lane < lanes; lane++) {
            T e = M(exp)(in[i * inner + lane] - max[lane]);
            out[i * inner + lane] = e;
            sum[lane] += (double)e;
        }
    for (size_t i = 0; i < count; i++)
        for (size_t lane = 0; lane < lanes; lane++)
            out[i * inner + lane] = (T)((double)out[i * inner + lane] / sum[lane]);
}

static void N(log_softmax_lanes)(const void *from, size_t count, size_t inner, size_t lanes,
                                 void *to)
{
    const T *in = from;
    T *out = to, max[LANES];
    double sum[LANES] = {0};
    N(lane_maxima)(in, count, inner, lanes, max);
    for (size_t i = 0; i < count; i++)
        for (size_t lane = 0; lane < lanes; lane++)
            sum[lane] += (double)M(exp)(in[i * inner + lane] - max[lane]);
    for (size_t lane = 0; lane < lanes; lane++)
        sum[lane] = log(sum[lane]);
    for (size_t i = 0; i < count; i++)
        for (size_t lane = 0; lane < lanes; lane++)
            out[i * inner + lane] = (T)((double)(in[i * inner + lane] - max[lane]) - sum[lane]);
}

/* 1 at the first greatest element, a NaN being greater than all. */
static void N(hardmax_lanes)(const void *from, size_t count, size_t inner, size_t lanes, void *to)
{
    const T *in = from;
    T *out = to, max[LANES];
    size_t at[LANES] = {0};
    for (size_t lane = 0; lane < lanes; lane++)
        max[lane] = in[lane];
    for (size_t i = 0; i < count; i++)
        for (size_t lane = 0; lane < lanes; lane++) {
            T x = in[i * inner + lane];
            out[i * inner + lane] = 0;
            if (x > max[lane] || (x != x && max[lane] == max[lane])) {
                max[lane] = x;
                at[lane] = i;
            }
        }
    for (size_t lane = 0; lane < lanes; lane++)
        out[at[lane] * inner + lane] = 1;
}
