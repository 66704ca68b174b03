#include "kernels/convolve_filter.h"

#include "common/compiler.h"
#include "kernels/dense_impl.h"
#include "kernels/sizes.h"

struct job {
    const struct ox_compute *t;
    const struct ox_filter_conv *c;
    size_t lines; /* of a task */
    size_t tasks; /* a plane */
    size_t slot;
    float *work;
};

static size_t slot_floats(const struct ox_filter_conv *c)
{
    enum { APART = 64 }; /* slots share no lines of the cache */
    return ox_round_up(c->room, APART);
}

size_t ox_filter_conv_work(const struct ox_env *env, const struct ox_filter_conv *c)
{
    size_t all;
    return c->room > SIZE_MAX / 2 || OX_MUL_OVERFLOWS(slot_floats(c), ox_slots(env), &all)
               ? SIZE_MAX
               : all;
}

static void filter_lines(void *arg, size_t i, size_t slot)
{
    const struct job *j = arg;
    const struct ox_filter_conv *c = j->c;
    const size_t plane = i / j->tasks, own = plane % c->filters, first = i % j->tasks * j->lines;
    const size_t end = ox_least(first + j->lines, c->lines);
    const struct ox_filter f = {.lines = end - first,
                                .line = c->line + first,
                                .taps = c->taps,
                                .weights = c->weights + own * c->taps,
                                .at = c->tap,
                                .bias = c->bias ? c->bias[own] : 0};
    const float *frame = c->frame(c->arg, plane, j->work + slot * j->slot);
    float *y = c->y + (plane * c->lines + first) * c->width;
    j->t->filter(&f, c->width, frame, y);
    if (!c->end || c->end->act == OX_ACT_NONE)
        return;
    struct ox_epilogue ends = *c->end;
    ends.col_bias = ends.row_bias = ends.residual = NULL;
    ends.scale = 0;
    ox_end_all(j->t, 1, (end - first) * c->width, y, 0, &ends);
}

void ox_filter_conv_run(const struct ox_compute *t, struct ox_env *env,
                        const struct ox_filter_conv *c, float *work)
{
    enum { TASKS = 16 };
    struct job j = {.t = t, .c = c, .lines = c->lines, .slot = slot_floats(c), .work = work};
    if (c->room == 0 && c->planes < TASKS)
        j.lines = (c->lines * c->planes + TASKS - 1) / TASKS;
    j.tasks = (c->lines + j.lines - 1) / j.lines;
    const double outputs = (double)(c->planes * c->lines) * (double)c->width;
    ox_spread_sums(env, c->planes * j.tasks, 6 * outputs * (double)(c->taps + 2), filter_lines, &j);
}
