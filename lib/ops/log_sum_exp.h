/* Fast forms of ReduceLogSumExp: exponentials abreast for float32 and of short rows, a table of them for integers. */
#ifndef OX_OPS_LOG_SUM_EXP_H
#define OX_OPS_LOG_SUM_EXP_H

#include "kernels/folds.h"
#include "onnxtool.h"

enum { OX_LOG_SUM_EXP_LANES = 512 }; /* at most */

float ox_log_sum_exp_row(const float *x, size_t n);
/* What serves rows of n elements of that type one after another, OX_LOG_SUM_EXP_LANES elements in all at most, (x, rows, n, y); NULL:
 * nothing better than a row at a time. */
void (*ox_log_sum_exp_short(enum ox_dtype type))(const void *, size_t, size_t, void *);

/* Those of a fold (kernels/folds.h) of lanes whose greatest elements are the shifts, in double, and what becomes of its sums. */
void ox_log_sum_exp_abreast(void *acc, const void *in, size_t lanes, size_t rows, size_t stride,
                            const void *shifts);
/* Of runs that are parts of what one sum takes in. */
void ox_log_sum_exp_run(void *acc, const void *in, size_t n, const void *shifts);
void ox_log_sum_exp_finish(const void *acc, void *out, size_t lanes, size_t n, const void *shifts);

/* Puts in place what serves integers of that type, if anything does: `shift` is folded first. */
void ox_log_sum_exp_of_integers(enum ox_dtype type, const struct ox_fold **shift,
                                const struct ox_fold **fold,
                                void (**end)(const void *acc, void *out, size_t lanes, size_t n,
                                             const void *shifts));

#endif
