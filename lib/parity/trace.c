/* What numbers flow through a model: where the first that is none arises, and what would become of them in narrower types. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/arena.h"
#include "common/env.h"
#include "model/model.h"

struct ox_trace {
    struct ox_model *model;
    struct ox_arena arena;
    struct ox_trace_entry *entries;
    size_t n, capacity;
    struct ox_strmap index;
};

enum ox_status ox_trace_new(struct ox_trace **out, struct ox_model *model, struct ox_error *err)
{
    struct ox_trace *trace = calloc(1, sizeof *trace);
    if (!trace)
        return ox_no_memory(err);
    trace->model = model;
    ox_arena_init(&trace->arena, ox_env_budget(model->env));
    ox_strmap_init(&trace->index);
    *out = trace;
    return OX_OK;
}

void ox_trace_release(struct ox_trace *trace)
{
    if (!trace)
        return;
    ox_strmap_release(&trace->index);
    ox_arena_release(&trace->arena);
    free(trace->entries);
    free(trace);
}

/* Smallest normal number; below it digits are lost, and some processors take a hundred times as long. */
static double least_normal(enum ox_dtype dtype)
{
    return dtype == OX_FLOAT64 ? 0x1p-1022 : dtype == OX_FLOAT16 ? 0x1p-14 : 0x1p-126;
}

static void add_tensor(struct ox_trace_entry *e, const struct ox_tensor *t)
{
    static const double HALF_LEAST = 0x1p-14; /* of float16 */
    double least = least_normal(t->dtype);
    if (!ox_dtype_is_float(t->dtype))
        return;
    for (size_t at = 0; at < t->n; at += 512) {
        double v[512];
        size_t n = t->n - at < 512 ? t->n - at : 512;
        ox_elements_convert(OX_FLOAT64, v, t->dtype,
                            (const char *)t->data + at * ox_dtype_size(t->dtype), n, false);
        for (size_t i = 0; i < n; i++) {
            double size = fabs(v[i]);
            if (isnan(size)) {
                e->n_nan++;
            } else if (isinf(size)) {
                e->n_inf++;
            } else if (size > 0) {
                e->n_denormal += size < least;
                e->n_half_denormal += size < HALF_LEAST;
                e->largest = fmax(e->largest, size);
                e->smallest = e->smallest > 0 ? fmin(e->smallest, size) : size;
                e->sum_squares += v[i] * v[i];
                e->n_nonzero++;
            }
        }
    }
    e->n_elements += t->n;
}

static void add_datum(struct ox_trace_entry *e, const struct ox_datum *datum, unsigned depth)
{
    enum { MOST_DEPTH = 64 };
    if (datum->tensor && datum->kind != OX_DATUM_MAP)
        add_tensor(e, datum->tensor);
    for (size_t i = 0; i < datum->n_items && depth < MOST_DEPTH; i++)
        add_datum(e, datum->items[i], depth + 1);
}

static enum ox_status add_entry(struct ox_trace *trace, const char *name, uint32_t *at,
                                struct ox_error *err)
{
    const struct ox_value *value =
        trace->model->graph ? ox_graph_value(trace->model->graph, name) : NULL;
    const struct ox_node *node = value ? value->producer : NULL;
    if (trace->n == trace->capacity) {
        size_t capacity = trace->capacity ? 2 * trace->capacity : 64;
        struct ox_trace_entry *more = realloc(trace->entries, capacity * sizeof *more);
        if (!more)
            return ox_no_memory(err);
        trace->entries = more;
        trace->capacity = capacity;
    }
    struct ox_strbuf label = {0};
    if (node)
        ox_node_label(&label, node);
    struct ox_trace_entry e = {.name = ox_arena_strdup(&trace->arena, name),
                               .node = ox_arena_strdup(&trace->arena, ox_strbuf_text(&label, NULL)),
                               .op_type =
                                   ox_arena_strdup(&trace->arena, node ? node->op_type : "")};
    ox_strbuf_release(&label);
    *at = (uint32_t)trace->n;
    bool is_new;
    if (!e.name || !e.node || !e.op_type ||
        !ox_strmap_add(&trace->index, e.name, strlen(e.name), at, &is_new))
        return ox_no_memory(err);
    trace->entries[trace->n++] = e;
    return OX_OK;
}

enum ox_status ox_trace_value(void *arg, const char *name, const struct ox_datum *value,
                              struct ox_error *err)
{
    struct ox_trace *trace = arg;
    uint32_t at = ox_strmap_find(&trace->index, name, strlen(name));
    if (at == OX_STRMAP_NONE)
        OX_TRY(add_entry(trace, name, &at, err));
    struct ox_trace_entry *e = &trace->entries[at];
    if (value->tensor)
        e->dtype = value->tensor->dtype;
    add_datum(e, value, 0);
    return OX_OK;
}

size_t ox_trace_count(const struct ox_trace *trace)
{
    return trace->n;
}

/* The step of 127 to the largest, and the noise of rounding to it: a twelfth of its square. */
static double int8_db(const struct ox_trace_entry *e)
{
    double step = e->largest / 127;
    double noise = step * step / 12 * (double)e->n_elements;
    return e->largest > 0 ? 10 * log10(e->sum_squares / noise) : INFINITY;
}

const struct ox_trace_entry *ox_trace_at(const struct ox_trace *trace, size_t i)
{
    static const double HALF = 65504, BRAIN = 3.3895313892515355e38;
    struct ox_trace_entry *e = &trace->entries[i];
    e->half_bits = e->largest > 0 ? log2(HALF / e->largest) : INFINITY;
    e->bfloat16_bits = e->largest > 0 ? log2(BRAIN / e->largest) : INFINITY;
    e->int8_db = int8_db(e);
    return e;
}

bool ox_trace_is_flood(const struct ox_trace_entry *e)
{
    enum { LEAST = 16, SHARE = 100 };
    return e->n_denormal >= LEAST && e->n_denormal * SHARE >= e->n_elements;
}
