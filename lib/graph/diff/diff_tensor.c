/* Tensors held against each other where they lie: a block at a time, so that big ones need no memory of their own. */
#include <math.h>
#include <string.h>

#include "common/forget.h"
#include "graph/diff/diff.h"

enum { BLOCK = 4096 };

/* FNV-1a (Fowler, Noll, Vo) with a last mixing; it only tells what may be the same. */
uint64_t ox_diff_mix(uint64_t seed, const void *bytes, size_t n)
{
    const uint8_t *p = bytes;
    uint64_t hash = seed ^ 0xcbf29ce484222325u;
    for (size_t i = 0; i < n; i++)
        hash = (hash ^ p[i]) * 0x100000001b3u;
    return hash ^ hash >> 29;
}

uint64_t ox_diff_mix_text(uint64_t seed, const char *text)
{
    return ox_diff_mix(seed, text, strlen(text) + 1);
}

uint64_t ox_diff_tensor_hash(const struct ox_stored *stored)
{
    uint64_t hash = ox_diff_mix(1, &stored->data_type, sizeof stored->data_type);
    return ox_diff_mix(hash, stored->dims, stored->rank * sizeof *stored->dims);
}

void ox_diff_tensor_type(struct ox_strbuf *out, const struct ox_stored *stored)
{
    ox_strbuf_puts(out, ox_dtype_name(stored->dtype));
    ox_strbuf_putc(out, '[');
    for (unsigned i = 0; i < stored->rank; i++)
        ox_strbuf_printf(out, i ? ",%lld" : "%lld", (long long)stored->dims[i]);
    ox_strbuf_putc(out, ']');
}

static bool same_type(const struct ox_stored *a, const struct ox_stored *b)
{
    return a->data_type == b->data_type && a->rank == b->rank &&
           (!a->rank || memcmp(a->dims, b->dims, a->rank * sizeof *a->dims) == 0);
}

struct sums {
    uint64_t n_differ;
    double max_abs, max_rel, signal, noise;
};

static void add_pair(struct sums *s, double x, double y)
{
    if (x == y || (isnan(x) && isnan(y))) {
        if (isfinite(x))
            s->signal += x * x;
        return;
    }
    s->n_differ++;
    if (!isfinite(x) || !isfinite(y)) {
        s->max_abs = s->max_rel = INFINITY;
        return;
    }
    double off = fabs(y - x);
    s->max_abs = off > s->max_abs ? off : s->max_abs;
    double relative = x != 0 ? off / fabs(x) : INFINITY;
    s->max_rel = relative > s->max_rel ? relative : s->max_rel;
    s->signal += x * x;
    s->noise += off * off;
}

static bool same_strings(const struct ox_tensor *a, const struct ox_tensor *b, struct sums *s)
{
    const struct ox_str *x = a->data, *y = b->data;
    for (size_t i = 0; i < a->n; i++)
        s->n_differ += x[i].n != y[i].n || (x[i].n && memcmp(x[i].p, y[i].p, x[i].n) != 0);
    s->max_abs = s->max_rel = s->n_differ ? INFINITY : 0;
    return s->n_differ == 0;
}

/* 64-bit integers that doubles cannot tell apart differ all the same. */
static void compare_block(struct sums *s, const struct ox_tensor *a, const struct ox_tensor *b,
                          size_t from, size_t n)
{
    double x[BLOCK], y[BLOCK];
    size_t size = ox_dtype_size(a->dtype);
    const char *p = (const char *)a->data + from * size, *q = (const char *)b->data + from * size;
    if (memcmp(p, q, n * size) == 0 && !ox_dtype_is_float(a->dtype))
        return;
    ox_elements_convert(OX_FLOAT64, x, a->dtype, p, n, true);
    ox_elements_convert(OX_FLOAT64, y, b->dtype, q, n, true);
    for (size_t i = 0; i < n; i++) {
        uint64_t before = s->n_differ;
        add_pair(s, x[i], y[i]);
        s->n_differ +=
            before == s->n_differ && memcmp(p + i * size, q + i * size, size) != 0 && x[i] != 0;
    }
}

static bool compare_values(const struct ox_tensor *a, const struct ox_tensor *b, struct sums *s)
{
    size_t size = ox_dtype_size(a->dtype);
    if (a->dtype == OX_STRING)
        return same_strings(a, b, s);
    if (!a->n || ox_mapping_equal(a->data, b->data, a->n * size))
        return true;
    for (size_t i = 0; i < a->n; i += BLOCK)
        compare_block(s, a, b, i, a->n - i < BLOCK ? a->n - i : BLOCK);
    ox_mapping_forget(a->data, a->n * size);
    ox_mapping_forget(b->data, b->n * size);
    /* What differs in bits alone (the sign of zero, the bits of NaN) is told too. */
    for (size_t i = 0; i < a->n && !s->n_differ; i++)
        s->n_differ +=
            memcmp((const char *)a->data + i * size, (const char *)b->data + i * size, size) != 0;
    return s->n_differ == 0;
}

static enum ox_status add_values(struct ox_differ *d, const struct ox_graph *graph,
                                 const char *subject, const char *property, const char *type,
                                 uint64_t n, const struct sums *s)
{
    size_t before = d->diff->n;
    if (s->max_abs <= d->options.weights_below && d->options.weights_below > 0)
        return OX_OK;
    OX_TRY(ox_diff_add(d, OX_DIFF_WEIGHT, graph, subject, property, type, type));
    if (d->diff->n == before)
        return OX_OK;
    struct ox_difference *last = &d->diff->list[d->diff->n - 1];
    last->values = true;
    last->n_elements = n;
    last->n_differ = s->n_differ;
    last->max_abs = s->max_abs;
    last->max_rel = s->max_rel;
    last->sqnr_db = s->noise > 0 ? 10 * log10(s->signal / s->noise) : INFINITY;
    return OX_OK;
}

enum ox_status ox_diff_tensors(struct ox_differ *d, const struct ox_graph *graph,
                               const char *subject, const char *property, const struct ox_stored *a,
                               const struct ox_stored *b)
{
    struct ox_strbuf before, after;
    struct ox_tensor *x = NULL, *y = NULL;
    enum ox_status status = OX_OK;
    struct sums sums = {0};
    if (d->options.ignore[OX_DIFF_WEIGHT])
        return OX_OK;
    ox_strbuf_init(&before);
    ox_strbuf_init(&after);
    ox_diff_tensor_type(&before, a);
    ox_diff_tensor_type(&after, b);
    if (before.failed || after.failed) {
        status = ox_diff_no_memory(d);
    } else if (!same_type(a, b)) {
        status = ox_diff_add(d, OX_DIFF_WEIGHT, graph, subject, property, before.data, after.data);
    } else {
        status = ox_stored_load(d->a, a, &x, d->err);
        if (status == OX_OK)
            status = ox_stored_load(d->b, b, &y, d->err);
        if (status == OX_OK && !compare_values(x, y, &sums))
            status = add_values(d, graph, subject, property, before.data, x->n, &sums);
    }
    ox_tensor_release(x);
    ox_tensor_release(y);
    if (a->place == OX_STORED_RAW)
        ox_mapping_forget(a->raw, a->raw_bytes);
    if (b->place == OX_STORED_RAW)
        ox_mapping_forget(b->raw, b->raw_bytes);
    ox_strbuf_release(&before);
    ox_strbuf_release(&after);
    return status;
}
