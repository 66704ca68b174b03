/* The percentile of onnxruntime.quantization 1.31: a histogram of absolute values, in numpy's float32 arithmetic. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "quant/calibrate.h"

enum { BINS = 2048 };

struct ox_abs_histogram {
    float first, last, step;
    uint64_t bins[BINS];
};

void ox_abs_range_add(struct ox_calibrated *tensor, const float *values, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        float v = fabsf(values[i]);
        tensor->least_abs = !tensor->has_abs || v < tensor->least_abs ? v : tensor->least_abs;
        tensor->has_abs = true;
    }
}

static float edge(const struct ox_abs_histogram *h, size_t i)
{
    return i == BINS ? h->last : (float)i * h->step + h->first;
}

bool ox_abs_histogram_add(struct ox_calibrated *tensor, const float *values, size_t n)
{
    struct ox_abs_histogram *h = tensor->abs;
    if (!h) {
        h = tensor->abs = calloc(1, sizeof *h);
        if (!h)
            return false;
        h->first = tensor->least_abs;
        h->last = fmaxf(fabsf(tensor->stats.least), fabsf(tensor->stats.most));
        if (h->first == h->last) {
            h->first -= 0.5f;
            h->last += 0.5f;
        }
        h->step = (h->last - h->first) / BINS;
    }
    for (size_t i = 0; i < n; i++) {
        float v = fabsf(values[i]);
        if (!(v >= h->first && v <= h->last))
            continue;
        long at = (long)((v - h->first) / (h->last - h->first) * BINS);
        at -= at == BINS;
        at -= v < edge(h, (size_t)at);
        at += v >= edge(h, (size_t)at + 1) && at != BINS - 1;
        h->bins[at]++;
    }
    return true;
}

void ox_abs_histogram_decide(struct ox_calibrated *tensor, double percentile)
{
    const struct ox_abs_histogram *h = tensor->abs;
    double total = 0, sum = 0;
    if (!h)
        return;
    for (size_t i = 0; i < BINS; i++)
        total += (double)h->bins[i];
    size_t at = 0;
    for (; at < BINS; at++) {
        sum += (double)h->bins[at] / total;
        if (sum >= percentile / 100)
            break;
    }
    /* The left edge, clamped to what was seen: on sparse tensors this is next to nothing, as it is there. */
    float bound = edge(h, at);
    tensor->given = true;
    tensor->rmin = -bound < tensor->stats.least ? tensor->stats.least : -bound;
    tensor->rmax = bound > tensor->stats.most ? tensor->stats.most : bound;
}
