/* Softmax LogSoftmax Hardmax of a type over `count` elements `inner` apart, for `lanes` neighbours at once. */
static void N(lane_maxima)(const T *in, size_t count, size_t inner, size_t lanes, T *max)
{
    for (size_t lane = 0; lane < lanes; lane++)
        max[lane] = in[lane];
    for (size_t i = 1; i < count; i++)
        for (size_t lane = 0; lane < lanes; lane++) {
            T x = in[i * inner + lane];
            max[lane] = ((x > max[lane]) | (x != x)) ? x : max[lane];
        }
}

/* The same for a single lane whose elements lie side by side. */
static T N(row_maximum)(const T *in, size_t count)
{
    T part[PARTS];
    size_t i = 0;
    for (size_t k = 0; k < PARTS; k++)
        part[k] = in[0];
    for (; i + PARTS <= count; i += PARTS)
        for (size_t k = 0; k < PARTS; k++)
            part[k] = ((in[i + k] > part[k]) | (in[i + k] != in[i + k])) ? in[i + k] : part[k];
    for (; i < count; i++)
        part[0] = ((in[i] > part[0]) | (in[i] != in[i])) ? in[i] : part[0];
    for (size_t k = 1; k < PARTS; k++)
        part[0] = ((part[k] > part[0]) | (part[k] != part[k])) ? part[k] : part[0];
    return part[0];
}

static void N(softmax_row)(const T *in, size_t count, T *out)
{
    const T max = N(row_maximum)(in, count);
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        T e = M(exp)(in[i] - max);
        out[i] = e;
        sum += (double)e;
    }
    const double scale = 1 / sum;
    for (size_t i = 0; i < count; i++)
        out[i] = (T)((double)out[i] * scale);
}

static void N(softmax_lanes)(const void *from, size_t count, size_t inner, size_t lanes, void *to)
{
    const T *in = from;
    T *out = to, max[LANES];
    double sum[LANES] = {0};
    if (inner == 1) {
        N(softmax_row)(in, count, out);
        return;
    }
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
    int met[LANES] = {0};
    N(lane_maxima)(in, count, inner, lanes, max);
    for (size_t i = 0; i < count; i++)
        for (size_t lane = 0; lane < lanes; lane++) {
            const T x = in[i * inner + lane];
            const int same = (x == max[lane]) | ((x != x) & (max[lane] != max[lane]));
            out[i * inner + lane] = (T)(same & ~met[lane]);
            met[lane] |= same;
        }
}

static void N(hardmax_rows)(const void *from, size_t count, size_t rows, void *to)
{
    const enum ox_dtype type = sizeof(T) == sizeof(float) ? OX_FLOAT32 : OX_FLOAT64;
    const T *x = from;
    T *y = to;
    int64_t place[LANES];
    memset(y, 0, rows * count * sizeof *y);
    for (size_t row = 0, some; row < rows; row += some) {
        some = rows - row < LANES ? rows - row : LANES;
        ox_folds_find(ox_cpu(), OX_FOLD_GREATEST, type, x, some, count, false, place);
        for (size_t i = 0; i < some; i++, y += count)
            y[place[i]] = 1;
        x += some * count;
    }
}
