#include "kernels/few_bits_parts.h"

#include <stdatomic.h>

#include "kernels/bfloat.h"
#include "kernels/dense_impl.h"
#include "kernels/sizes.h"

enum {
    DEEP = OX_TRIPLES_DEPTH,
    WIDE = OX_TRIPLES_COLS,
    TALL = OX_TRIPLES_ROWS,
    STEPS = 16,      /* of a task that makes parts */
    CODE_COSTS = 12, /* as many operations */
    NEAR = 1 << 20   /* bytes of parts that stay in L2 */
};

/* Fewer rows go by vectors as fast, measured on a Xeon of 2023; fewer columns do not pay for the parts. */
bool ox_few_parts_pay(const struct ox_triples *t, const struct ox_few_bits *w, size_t m, size_t n)
{
    enum { ROWS_LEAST = 7, COLS_LEAST = 128 };
    return t && !w->real_zeros && (w->bits == 4 || w->bits == 8) && w->block % DEEP == 0 &&
           w->k > 0 && m >= ROWS_LEAST && n >= COLS_LEAST;
}

size_t ox_few_parts_group(const struct ox_few_bits *w, size_t m)
{
    const size_t near = NEAR / OX_TRIPLES_PARTS / sizeof(uint16_t) / w->k / TALL * TALL;
    const size_t most = near < TALL ? TALL : ox_least(near, OX_FEW_PARTS_ROWS);
    return ox_even_part(m, most, TALL);
}

size_t ox_few_parts_bytes(const struct ox_few_bits *w, size_t group)
{
    return ox_round_up(group, WIDE) / WIDE * (w->k / DEEP) * OX_FEW_PARTS_STEP * sizeof(uint16_t);
}

struct job {
    const struct ox_triples *t;
    const struct ox_few_parts *p;
    const float *a;
    uint16_t *rows;
    size_t pieces; /* of a panel */
    atomic_bool extreme;
};

/* Some of k of the rows of a panel, which are turned a step at a time. */
static void rows_task(void *arg, size_t i, size_t slot)
{
    struct job *j = arg;
    const struct ox_few_bits *w = j->p->w;
    const size_t first = i / j->pieces * WIDE, n = ox_least(WIDE, j->p->m - first);
    const size_t all = w->k / DEEP, from = i % j->pieces * STEPS, to = ox_least(from + STEPS, all);
    _Alignas(64) float turned[DEEP * WIDE] = {0};
    (void)slot;
    for (size_t s = from; s < to; s++) {
        const float *a = j->a + first * w->k + s * DEEP;
        for (size_t q = 0; q < DEEP; q++)
            for (size_t r = 0; r < n; r++)
                turned[q * WIDE + r] = a[r * w->k + ox_few_parts_index(w, q)];
        if (j->t->panel(DEEP, turned, j->rows + (first / WIDE * all + s) * OX_FEW_PARTS_STEP))
            atomic_store_explicit(&j->extreme, true, memory_order_relaxed);
    }
}

static void columns_task(void *arg, size_t i, size_t slot)
{
    const struct job *j = arg;
    const size_t first = i * OX_FEW_PARTS_COLS;
    (void)slot;
    j->t->begin(TALL);
    j->t->columns(j->p, first, ox_least(OX_FEW_PARTS_COLS, j->p->n - first));
    j->t->end();
}

bool ox_few_parts_run(struct ox_env *env, const struct ox_triples *t, const struct ox_few_parts *p,
                      const float *a, uint16_t *rows)
{
    const size_t steps = p->w->k / DEEP, pieces = (steps + STEPS - 1) / STEPS;
    struct ox_few_parts made = *p;
    struct job j = {.t = t, .p = &made, .a = a, .rows = rows, .pieces = pieces};
    made.rows = rows;
    ox_spread(env, (p->m + WIDE - 1) / WIDE * pieces, 4 * (double)p->m * (double)p->w->k, rows_task,
              &j);
    if (atomic_load_explicit(&j.extreme, memory_order_relaxed))
        return false;
    ox_spread(env, (p->n + OX_FEW_PARTS_COLS - 1) / OX_FEW_PARTS_COLS,
              CODE_COSTS * (double)ox_round_up(p->m, TALL) / TALL * (double)p->n * (double)p->w->k,
              columns_task, &j);
    return true;
}

/* Of a row and a column, over a step, parts from low to high. */
static float step_sum(const struct ox_few_bits *w, size_t column, size_t step, const uint16_t *row)
{
    const uint8_t *codes = w->codes + column * (w->k * w->bits / 8);
    const float zero = ox_few_bits_zero(w, column, step * DEEP / w->block);
    float sum = 0;
    for (unsigned part = OX_TRIPLES_PARTS; part-- > 0;) {
        float of[2] = {0, 0};
        for (size_t q = 0; q < DEEP; q++) {
            const size_t at = q % (DEEP / 2) * 2 * TALL + q / (DEEP / 2);
            const unsigned code =
                ox_few_bits_code(codes, step * DEEP + ox_few_parts_index(w, q), w->bits);
            of[q % 2] += ox_bfloat_widen(row[part * OX_TRIPLES_TILE + at]) * ((float)code - zero);
        }
        sum += of[0] + of[1];
    }
    return sum;
}

void ox_few_parts_columns_c(const struct ox_few_parts *p, size_t first, size_t cols)
{
    const struct ox_few_bits *w = p->w;
    for (size_t i = 0; i < p->m; i++) {
        const uint16_t *row = ox_few_parts_rows(p, i) + i % TALL * 2;
        for (size_t j = first; j < first + cols; j++) {
            float sum = 0;
            for (size_t s = 0; s < w->k / DEEP; s++)
                sum += step_sum(w, j, s, row + s * OX_FEW_PARTS_STEP) *
                       w->scales[j * w->blocks + s * DEEP / w->block];
            p->c[i * p->ldc + j] = p->bias ? sum + p->bias[j] : sum;
        }
    }
}
