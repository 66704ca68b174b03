/* How the inputs of products go together: for each, the sum of x^T x over samples. */
#ifndef OX_QUANT_HESSIANS_H
#define OX_QUANT_HESSIANS_H

#include "common/error.h"
#include "model/model.h"

struct ox_hessian {
    const char *name; /* of the value, of the main graph */
    size_t k;         /* its last dimension */
    double *sums;     /* [k, k], above and on the diagonal; NULL: not seen. The caller frees it */
    uint64_t rows;    /* that were seen */
};

/* Runs the model over the samples once for all n values. */
enum ox_status ox_hessians_find(struct ox_hessian *hessians, size_t n, struct ox_model *model,
                                const char *const *samples, size_t n_samples, struct ox_error *err);

/* Takes from the sums what in them is chance by so many rows: off the diagonal they shrink by its share (Schaefer and Strimmer 2005). */
void ox_hessian_shrink(double *sums, size_t k, uint64_t rows);

#endif
