/* The constant tensors of a model: a list, and their values on demand. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/forget.h"
#include "graph/cost/cost.h"
#include "graph/weight_list.h"
#include "model/name.h"

enum {
    CHUNK = 4096 /* elements that are looked at together */,
    PIECE = 1 << 20 /* bytes of a file */
};

/* ---- The list ----------------------------------------------------------------------------------------------------- */

static size_t count_all(const struct ox_model *model)
{
    size_t n = 0;
    for (size_t g = 0; g < model->n_graphs; g++)
        n += model->graphs[g]->n_inits + 2 * model->graphs[g]->n_sparse_inits +
             model->graphs[g]->n_nodes;
    return n;
}

static void put(struct ox_weight_list *list, const char *graph, const char *name, const char *node,
                const char *part, const struct ox_stored *stored)
{
    size_t n = 0;
    uint64_t bytes = 0;
    if (!stored)
        return;
    if (ox_dims_count(stored->rank, stored->dims, &n))
        ox_dtype_packed_bytes(stored->dtype, n, &bytes);
    list->stored[list->n] = stored;
    list->items[list->n++] = (struct ox_weight){
        .graph = graph,
        .name = name,
        .node = node,
        .dtype = stored->dtype,
        .rank = stored->rank,
        .dims = stored->dims,
        .n = n,
        .bytes = bytes,
        .part = part,
        .location = stored->place == OX_STORED_EXTERNAL ? stored->location : NULL,
        .offset = stored->place == OX_STORED_EXTERNAL ? stored->offset : 0};
}

static bool put_constant(struct ox_weight_list *list, const char *graph, const struct ox_node *node)
{
    const struct ox_stored *held = ox_cost_constant(node);
    if (!held)
        return true;
    struct ox_strbuf label = {0};
    ox_node_label(&label, node);
    const char *copy = ox_arena_text(&list->arena, &label);
    ox_strbuf_release(&label);
    bool has_output = node->n_outputs && node->outputs[0];
    put(list, graph, has_output ? node->outputs[0]->name : "", copy, NULL, held);
    return copy != NULL;
}

static bool put_graph(struct ox_weight_list *list, const struct ox_graph *graph)
{
    struct ox_strbuf path = {0};
    ox_graph_path(&path, graph);
    const char *where = ox_arena_text(&list->arena, &path);
    ox_strbuf_release(&path);
    if (!where)
        return false;
    for (size_t i = 0; i < graph->n_inits; i++)
        put(list, where, graph->inits[i]->name, NULL, NULL, graph->inits[i]);
    for (size_t i = 0; i < graph->n_sparse_inits; i++) {
        const struct ox_stored_sparse *sparse = graph->sparse_inits[i];
        const char *name = sparse->values ? sparse->values->name : "";
        put(list, where, name, NULL, "values", sparse->values);
        put(list, where, name, NULL, "indices", sparse->indices);
    }
    bool good = true;
    for (size_t i = 0; i < graph->n_nodes && good; i++)
        good = put_constant(list, where, graph->nodes[i]);
    return good;
}

enum ox_status ox_weight_list_new(struct ox_weight_list **out, struct ox_model *model,
                                  struct ox_error *err)
{
    struct ox_weight_list *list = calloc(1, sizeof *list);
    size_t most = count_all(model);
    bool good = list != NULL;
    if (good) {
        list->model = model;
        list->env = model->env;
        list->path = model->path ? model->path : "model";
        ox_arena_init(&list->arena, ox_env_budget(model->env));
        list->items = ox_arena_array(&list->arena, most + 1, sizeof *list->items);
        list->stored = ox_arena_array(&list->arena, most + 1, sizeof(*list->stored));
        good = list->items && list->stored;
    }
    for (size_t g = 0; good && g < model->n_graphs; g++)
        good = put_graph(list, model->graphs[g]);
    if (!good) {
        ox_weight_list_release(list);
        return ox_fail(err, OX_NO_MEMORY, "%s: out of memory", model->path ? model->path : "model");
    }
    *out = list;
    return OX_OK;
}

void ox_weight_list_release(struct ox_weight_list *list)
{
    if (!list)
        return;
    for (size_t i = 0; list->saved && i < list->n; i++)
        ox_tensor_release(list->saved[i].tensor);
    for (size_t i = 0; i < list->n_files; i++)
        ox_tensor_file_release(list->files[i]);
    free(list->files);
    ox_arena_release(&list->arena);
    free(list);
}

size_t ox_weight_list_count(const struct ox_weight_list *list)
{
    return list->n;
}

const struct ox_weight *ox_weight_list_at(const struct ox_weight_list *list, size_t i)
{
    return &list->items[i];
}

const struct ox_stored *ox_weight_list_stored(const struct ox_weight_list *list, size_t i)
{
    return list->stored[i];
}

enum ox_status ox_weight_list_load(struct ox_tensor **out, const struct ox_weight_list *list,
                                   size_t i, struct ox_error *err)
{
    if (!list->saved)
        return ox_stored_load(list->model, list->stored[i], out, err);
    const struct ox_saved_tensor *saved = &list->saved[i];
    if (saved->file)
        return ox_tensor_file_load(out, saved->file, saved->at, err);
    *out = ox_tensor_ref(saved->tensor);
    return OX_OK;
}

/* ---- Statistics --------------------------------------------------------------------------------------------------- */

/* Elements of a tensor as doubles, a chunk at a time: a view of the tensor's memory, or of packed bytes in the file. */
struct reader {
    enum ox_dtype dtype;
    const uint8_t *at;   /* elements as in memory; or packed */
    const uint8_t *kept; /* from here on pages of a mapped file may be in memory */
    size_t left;
    size_t step; /* bytes of a chunk */
    bool packed;
    _Alignas(16) uint8_t elements[CHUNK * 16];
    double values[CHUNK];
};

static size_t next_chunk(struct reader *r)
{
    size_t n = r->left < CHUNK ? r->left : CHUNK;
    const void *elements = r->at;
    if (r->packed) {
        ox_tensor_unpack(r->dtype, r->at, n, r->elements);
        elements = r->elements;
    }
    ox_elements_convert(OX_FLOAT64, r->values, r->dtype, elements, n, true);
    if (r->at - r->kept >= PIECE) {
        ox_mapping_forget(r->kept, (size_t)(r->at - r->kept));
        r->kept = r->at;
    }
    r->left -= n;
    if (r->left)
        r->at += r->step;
    return n;
}

/* Leaves out what is not finite; how many are left. The common case, that all are, is a plain loop. */
static size_t keep_finite(struct ox_weight_stats *stats, double *values, size_t n)
{
    size_t finite = 0, kept = 0;
    for (size_t i = 0; i < n; i++)
        finite += fabs(values[i]) <= DBL_MAX;
    if (finite == n)
        return n;
    for (size_t i = 0; i < n; i++) {
        stats->n_nans += isnan(values[i]) != 0;
        stats->n_infs += isinf(values[i]) != 0;
        if (isfinite(values[i]))
            values[kept++] = values[i];
    }
    return kept;
}

/* Sums are those of Welford's method merged a chunk at a time (Chan, Golub, LeVeque): no cancellation. */
static void measure(struct ox_weight_stats *stats, struct reader *r)
{
    double mean = 0, squares = 0, min = INFINITY, max = -INFINITY;
    uint64_t n = 0;
    while (r->left) {
        size_t all = next_chunk(r), count = keep_finite(stats, r->values, all), zeros = 0;
        double sum = 0, spread = 0;
        for (size_t i = 0; i < count; i++) {
            double v = r->values[i];
            zeros += v == 0;
            sum += v;
            min = v < min ? v : min;
            max = v > max ? v : max;
        }
        stats->n_zeros += zeros;
        if (!count)
            continue;
        double here = sum / (double)count;
        for (size_t i = 0; i < count; i++)
            spread += (r->values[i] - here) * (r->values[i] - here);
        double total = (double)(n + count), delta = here - mean;
        squares += spread + delta * delta * (double)n * ((double)count / total);
        mean += delta * ((double)count / total);
        n += count;
    }
    stats->mean = n ? mean : NAN;
    stats->std = n ? sqrt(squares / (double)n) : NAN;
    stats->min = n ? min : NAN;
    stats->max = n ? max : NAN;
}

static void fill_bins(const struct ox_weight_stats *stats, struct reader *r, uint64_t *bins,
                      size_t n_bins)
{
    double width = stats->max - stats->min, scale = width > 0 ? (double)n_bins / width : 0;
    memset(bins, 0, n_bins * sizeof *bins);
    while (r->left) {
        size_t count = next_chunk(r);
        for (size_t i = 0; i < count; i++) {
            if (!(fabs(r->values[i]) <= DBL_MAX))
                continue;
            double at = (r->values[i] - stats->min) * scale;
            size_t bin = at >= (double)n_bins ? n_bins - 1 : at > 0 ? (size_t)at : 0;
            bins[bin]++;
        }
    }
}

static bool is_numeric(enum ox_dtype dtype)
{
    return dtype != OX_STRING && dtype != OX_COMPLEX64 && dtype != OX_COMPLEX128 &&
           dtype != OX_UNDEFINED;
}

/* From the file's bytes where they are there whole, so that no tensor need be held. */
static enum ox_status open_reader(struct reader *r, const struct ox_weight_list *list, size_t i,
                                  struct ox_tensor **tensor, struct ox_error *err)
{
    const struct ox_stored *stored = list->stored ? list->stored[i] : NULL;
    uint64_t chunk_bytes;
    size_t n;
    r->dtype = list->items[i].dtype;
    if (stored && stored->place == OX_STORED_RAW &&
        ox_stored_verify(list->model, stored, NULL) == OX_OK &&
        ox_dims_count(stored->rank, stored->dims, &n) &&
        ox_dtype_packed_bytes(stored->dtype, CHUNK, &chunk_bytes)) {
        r->packed = true;
        r->at = stored->raw;
        r->left = n;
        r->step = (size_t)chunk_bytes;
        return OX_OK;
    }
    OX_TRY(ox_weight_list_load(tensor, list, i, err));
    r->at = (*tensor)->data;
    r->left = (*tensor)->n;
    r->step = CHUNK * ox_dtype_size(r->dtype);
    return OX_OK;
}

enum ox_status ox_weight_list_stats(struct ox_weight_stats *stats,
                                    const struct ox_weight_list *list, size_t i, uint64_t *bins,
                                    size_t n_bins, struct ox_error *err)
{
    struct ox_tensor *tensor = NULL;
    struct ox_weight_stats found = {.n = list->items[i].n};
    if (!is_numeric(list->items[i].dtype)) {
        if (list->stored && list->items[i].dtype == OX_UNDEFINED) {
            const enum ox_status status = ox_stored_verify(list->model, list->stored[i], err);
            return status == OX_OK ? OX_OK
                                   : ox_fail_tensor(err, status, list->model, list->stored[i]);
        }
        *stats = found;
        return OX_OK;
    }
    struct reader *r = calloc(1, sizeof *r);
    if (!r)
        return ox_fail(err, OX_NO_MEMORY, "%s: out of memory", list->path);
    enum ox_status status = open_reader(r, list, i, &tensor, err);
    if (status == OX_OK) {
        const uint8_t *start = r->at;
        size_t n = r->left;
        found.numeric = true;
        r->kept = start;
        measure(&found, r);
        r->at = r->kept = start;
        r->left = n;
        if (bins)
            fill_bins(&found, r, bins, n_bins);
        ox_mapping_forget(r->kept, (size_t)(r->at - r->kept));
        *stats = found;
        status = ox_env_poll(list->env, err);
    }
    ox_tensor_release(tensor);
    free(r);
    return status;
}
