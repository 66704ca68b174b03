#include "tests/run_level.h"

#include <check.h>
#include <string.h>

#include "common/env.h"
#include "graph/pass.h"

uint64_t run_level(const char *text, int level, unsigned threads, unsigned rank,
                   const int64_t *dims, float *out, size_t *n_out)
{
    static float given[MOST];
    struct text_run f;
    size_t n = 1, n_events;
    uint64_t macs = 0;
    for (unsigned d = 0; d < rank; d++)
        n *= (size_t)dims[d];
    ck_assert_uint_le(n, MOST);
    for (size_t i = 0; i < n; i++)
        given[i] = (float)((i * 7919) % 1009) / 500 - 1;
    const struct ox_run_options options = {.level = level, .profile = true};
    text_open(&f, text);
    ox_env_set_threads(f.env, threads);
    ck_assert_msg(text_plan(&f, &options) == OX_OK, "%s", f.err.message);
    text_give(&f, OX_FLOAT32, rank, dims, given);
    for (int round = 0; round < 2; round++) {
        text_must_run(&f);
        const struct ox_tensor *y = ox_datum_get_tensor(f.out[0]);
        ck_assert_uint_le(y->n, MOST);
        *n_out = y->n;
        for (size_t i = 0; i < y->n; i++)
            out[i] = (float)ox_tensor_get_double(y, i);
    }
    const struct ox_node_event *events = ox_session_events(f.session, &n_events);
    for (size_t i = 0; i < n_events; i++)
        macs += events[i].macs;
    text_close(&f);
    return macs;
}

size_t count_own(const struct ox_model *model, const char *op_type)
{
    size_t n = 0;
    for (size_t i = 0; i < model->graph->n_nodes; i++)
        n += strcmp(model->graph->nodes[i]->op_type, op_type) == 0;
    return n;
}

void check_nodes(const char *text, const struct want *wants, size_t n)
{
    struct text_run f;
    const struct ox_rewrite_plan plan = {.level = 2, .to_run = true};
    text_open(&f, text);
    ck_assert_int_eq(ox_rewrite_model(f.model, &plan, NULL, &f.err), OX_OK);
    for (size_t i = 0; i < n; i++) {
        const size_t found = count_own(f.model, wants[i].op_type);
        ck_assert_msg(found == wants[i].n, "%zu of %s, not %zu", found, wants[i].op_type,
                      wants[i].n);
    }
    text_close(&f);
}
