/* Det: LU with row pivots, in double. */
#include <math.h>

#include "ops/infer.h"
#include "ops/real.h"
#include "ops/rules.h"

static void infer_det(struct ox_infer *c)
{
    unsigned rank;
    const struct ox_expr *const *x;
    if (!ox_infer_shape(c, 0, &rank, &x)) {
        ox_infer_unknown(c, 0, "the input's rank is not known");
        return;
    }
    if (!ox_rule_rank_least(c, 0, 2))
        return;
    ox_infer_equal(c, x[rank - 2], x[rank - 1], "rows and columns");
    ox_infer_set_shape(c, 0, rank - 2, x);
}

static double determinant(double *a, size_t n)
{
    double det = 1;
    for (size_t k = 0; k < n; k++) {
        size_t pivot = k;
        for (size_t i = k + 1; i < n; i++)
            if (fabs(a[i * n + k]) > fabs(a[pivot * n + k]))
                pivot = i;
        double top = a[pivot * n + k];
        if (top == 0)
            return 0;
        for (size_t j = k; j < n && pivot != k; j++) {
            double t = a[k * n + j];
            a[k * n + j] = a[pivot * n + j];
            a[pivot * n + j] = t;
        }
        det *= pivot == k ? top : -top;
        for (size_t i = k + 1; i < n; i++) {
            double factor = a[i * n + k] / top;
            for (size_t j = k + 1; j < n; j++)
                a[i * n + j] -= factor * a[k * n + j];
        }
    }
    return det;
}

static enum ox_status run_det(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *x = ox_run_in(r, 0);
    if (x->rank < 2 || x->dims[x->rank - 1] != x->dims[x->rank - 2])
        return ox_run_fail(r, err, OX_INPUT, "the input is no stack of square matrices");
    size_t n = (size_t)x->dims[x->rank - 1];
    struct ox_tensor *y;
    OX_TRY(ox_run_out(r, 0, x->dtype, x->rank - 2, x->dims, &y, err));
    double *a = ox_real_scratch(r, y->n ? x->n / y->n : 0, err);
    if (!a)
        return OX_NO_MEMORY;
    for (size_t i = 0; i < y->n; i++) {
        OX_TRY(ox_env_poll(r->env, err));
        ox_real_load(x, i * n * n, n * n, a);
        double det = determinant(a, n);
        ox_real_store(y, i, 1, &det);
    }
    return OX_OK;
}

const struct ox_op ox_ops_linalg[] = {{"", "Det", 11, .infer = infer_det, .run = run_det},
                                      {"", "Det", 22, .infer = infer_det, .run = run_det},
                                      {0}};
