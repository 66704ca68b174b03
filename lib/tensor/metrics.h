/* What the parts of the meter share: sums over two arrays, and what costs more than sums. */
#ifndef OX_TENSOR_METRICS_H
#define OX_TENSOR_METRICS_H

#include "tensor/tensor.h"

/* Over pairs of elements that are both finite, unless said otherwise. */
struct ox_sums {
    uint64_t n, n_rel;     /* pairs; those with a reference other than 0 */
    uint64_t n_mismatched; /* of all pairs */
    uint64_t a_nan, b_nan, a_inf, b_inf;
    bool nan_difference, inf_difference; /* a pair whose difference is no number */
    double abs, rel, squares;            /* of differences */
    double aa, bb, ab;
    double max_abs, max_rel;
    double a_min, a_max, b_min, b_max;
    size_t worst; /* where max_abs is; SIZE_MAX: nowhere */
    size_t bad;   /* the first pair that departs by NaN or infinity; SIZE_MAX */
};

void ox_sums_init(struct ox_sums *sums);
/* `from` follows `sums` in order. */
void ox_sums_merge(struct ox_sums *sums, const struct ox_sums *from);
/* Adds elements [begin, end) of two tensors of numbers with the same count. */
void ox_sums_add(struct ox_sums *sums, const struct ox_metrics_options *options,
                 const struct ox_tensor *a, const struct ox_tensor *b, size_t begin, size_t end);

enum { OX_ULP_BUCKETS = 1024 };

/* Counts that need a look at each element of their own. */
struct ox_detail {
    uint64_t histogram[OX_ERROR_BINS];
    uint64_t ulp[OX_ULP_BUCKETS];
    uint64_t n_ulp;
    uint64_t ulp_max;
    uint64_t rows, top1, top5_same, top5_all;
};

void ox_detail_add(struct ox_detail *detail, const struct ox_tensor *a, const struct ox_tensor *b);
void ox_detail_merge(struct ox_detail *detail, const struct ox_detail *from);
/* The ULPs that `share` of the elements do not pass; NaN without elements. */
double ox_detail_ulp(const struct ox_detail *detail, double share);

#endif
