/* Where weights lie, and which are the same. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "check/linter.h"
#include "model/name.h"

enum {
    LEAST_BYTES = 1024,       /* of weights that are worth sharing */
    MAPPED_BYTES = 64 * 1024, /* of weights that are worth mapping */
    PAGE = 4096,
    SAMPLES = 64
};

/* An initializer and what its data are known by. */
struct weight {
    const struct ox_graph *graph;
    const struct ox_stored *stored;
    uint64_t bytes;
    uint64_t mark; /* of some elements; weights that are equal have the same */
    size_t order;
};

static size_t list_inits(const struct ox_model *model, struct weight *list)
{
    size_t count = 0;
    for (size_t g = 0; g < model->n_graphs; g++) {
        const struct ox_graph *graph = model->graphs[g];
        for (size_t i = 0; i < graph->n_inits; i++) {
            const struct ox_stored *stored = graph->inits[i];
            size_t n;
            uint64_t bytes = 0;
            if (ox_dims_count(stored->rank, stored->dims, &n) &&
                ox_dtype_packed_bytes(stored->dtype, n, &bytes))
                list[count] = (struct weight){graph, stored, bytes, 0, count};
            else
                list[count] = (struct weight){graph, stored, 0, 0, count};
            count++;
        }
    }
    return count;
}

static struct weight *new_list(const struct ox_model *model, size_t *n)
{
    size_t most = 0;
    for (size_t g = 0; g < model->n_graphs; g++)
        most += model->graphs[g]->n_inits;
    struct weight *list = calloc(most + 1, sizeof *list);
    *n = list ? list_inits(model, list) : 0;
    return list;
}

/* ---- External data ------------------------------------------------------------------------------------------------ */

static int by_place(const void *a, const void *b)
{
    const struct weight *x = a, *y = b;
    int order = strcmp(x->stored->location, y->stored->location);
    if (order)
        return order;
    if (x->stored->offset != y->stored->offset)
        return x->stored->offset < y->stored->offset ? -1 : 1;
    if (x->bytes != y->bytes)
        return x->bytes > y->bytes ? -1 : 1;
    return x->order < y->order ? -1 : 1;
}

static void lint_length(struct ox_linter *lint, const struct weight *w)
{
    struct ox_name shown;
    if (!w->stored->has_length)
        ox_findings_add(lint->findings, OX_F_LINT_EXTERNAL_NO_LENGTH,
                        &(struct ox_place){.graph = w->graph, .tensor = w->stored->name}, NULL,
                        "external data of '%s' has no length", ox_name(&shown, w->stored->name));
}

/* One finding a file: who writes offsets so does it everywhere. The list is in the order of places. */
static void lint_alignment(struct ox_linter *lint, const struct weight *list, size_t n)
{
    for (size_t i = 0, end; i < n; i = end) {
        const struct weight *first = NULL;
        size_t count = 0;
        struct ox_name shown, file;
        for (end = i; end < n && !strcmp(list[end].stored->location, list[i].stored->location);
             end++) {
            if (list[end].bytes < MAPPED_BYTES || list[end].stored->offset % PAGE == 0)
                continue;
            first = first ? first : &list[end];
            count++;
        }
        if (first)
            ox_findings_add(
                lint->findings, OX_F_LINT_EXTERNAL_UNALIGNED,
                &(struct ox_place){.graph = first->graph, .tensor = first->stored->name},
                "writing the model again aligns them",
                "%zu large tensor%s in %s start%s on no page, the first is '%s' "
                "at offset %" PRIu64,
                count, count == 1 ? "" : "s", ox_name(&file, first->stored->location),
                count == 1 ? "s" : "", ox_name(&shown, first->stored->name), first->stored->offset);
    }
}

/* In the order of their places each is held against the one so far that reaches furthest. */
static void lint_overlaps(struct ox_linter *lint, const struct weight *list, size_t n)
{
    const struct weight *furthest = NULL;
    uint64_t end = 0;
    for (size_t i = 0; i < n; i++) {
        const struct weight *w = &list[i];
        uint64_t own_end;
        struct ox_name shown, other;
        if (OX_ADD_OVERFLOWS(w->stored->offset, w->bytes, &own_end))
            continue;
        bool same_file = furthest && strcmp(furthest->stored->location, w->stored->location) == 0;
        bool same_range = same_file && furthest->stored->offset == w->stored->offset &&
                          furthest->bytes == w->bytes;
        if (same_file && !same_range && w->bytes && w->stored->offset < end)
            ox_findings_add(lint->findings, OX_F_LINT_EXTERNAL_OVERLAP,
                            &(struct ox_place){.graph = w->graph, .tensor = w->stored->name}, NULL,
                            "'%s' starts at offset %" PRIu64 ", before '%s' ends at %" PRIu64,
                            ox_name(&shown, w->stored->name), w->stored->offset,
                            ox_name(&other, furthest->stored->name), end);
        if (!same_file || own_end > end) {
            furthest = w;
            end = own_end;
        }
    }
}

enum ox_status ox_lint_external(struct ox_linter *lint)
{
    size_t n, kept = 0;
    struct weight *list = new_list(lint->model, &n);
    if (!list)
        return ox_lint_no_memory(lint);
    for (size_t i = 0; i < n; i++) {
        if (list[i].stored->place != OX_STORED_EXTERNAL || !list[i].stored->location)
            continue;
        lint_length(lint, &list[i]);
        list[kept++] = list[i];
    }
    if (kept)
        qsort(list, kept, sizeof *list, by_place);
    lint_alignment(lint, list, kept);
    lint_overlaps(lint, list, kept);
    free(list);
    return ox_env_poll(lint->model->env, lint->err);
}

/* ---- Duplicates --------------------------------------------------------------------------------------------------- */

static int compare_shape(const struct weight *x, const struct weight *y)
{
    if (x->bytes != y->bytes)
        return x->bytes > y->bytes ? -1 : 1;
    if (x->stored->dtype != y->stored->dtype)
        return x->stored->dtype < y->stored->dtype ? -1 : 1;
    if (x->stored->rank != y->stored->rank)
        return x->stored->rank < y->stored->rank ? -1 : 1;
    return x->stored->rank ? memcmp(x->stored->dims, y->stored->dims,
                                    x->stored->rank * sizeof x->stored->dims[0])
                           : 0;
}

static int by_shape_and_mark(const void *a, const void *b)
{
    const struct weight *x = a, *y = b;
    int order = compare_shape(x, y);
    if (order)
        return order;
    if (x->mark != y->mark)
        return x->mark < y->mark ? -1 : 1;
    return x->order < y->order ? -1 : 1;
}

/* FNV-1a of some bytes from all over the tensor, so that few pages of it are touched. */
static uint64_t mark_of(const struct ox_tensor *tensor)
{
    const uint8_t *bytes = tensor->data;
    size_t n = tensor->n * ox_dtype_size(tensor->dtype);
    uint64_t hash = 14695981039346656037u;
    for (size_t i = 0; i < SAMPLES && n; i++)
        hash = (hash ^ bytes[n / SAMPLES * i]) * 1099511628211u;
    return hash;
}

static bool load(struct ox_linter *lint, const struct weight *w, struct ox_tensor **tensor)
{
    struct ox_error ignored; /* what is wrong with it is the checker's to say */
    *tensor = NULL;
    return ox_stored_load(lint->model, w->stored, tensor, &ignored) == OX_OK;
}

static bool same_data(struct ox_linter *lint, const struct weight *a, const struct weight *b)
{
    struct ox_tensor *x, *y;
    bool same = load(lint, a, &x);
    same = load(lint, b, &y) && same && x->n == y->n &&
           memcmp(x->data, y->data, x->n * ox_dtype_size(x->dtype)) == 0;
    ox_tensor_release(x);
    ox_tensor_release(y);
    return same;
}

static bool may_repeat(const struct weight *w)
{
    return w->bytes >= LEAST_BYTES && w->stored->dtype != OX_STRING;
}

/* Where the same bytes of one external file are meant, nothing is stored twice. */
static bool shares_place(const struct weight *a, const struct weight *b)
{
    return a->stored->place == OX_STORED_EXTERNAL && b->stored->place == OX_STORED_EXTERNAL &&
           a->stored->location && b->stored->location && a->stored->offset == b->stored->offset &&
           strcmp(a->stored->location, b->stored->location) == 0;
}

static void report_duplicate(struct ox_linter *lint, const struct weight *w,
                             const struct weight *first)
{
    struct ox_name shown, other;
    ox_findings_add(
        lint->findings, OX_F_LINT_DUPLICATE_WEIGHT,
        &(struct ox_place){.graph = w->graph, .tensor = w->stored->name},
        "let nodes share one initializer", "'%s' holds the same %" PRIu64 " bytes as '%s'",
        ox_name(&shown, w->stored->name), w->bytes, ox_name(&other, first->stored->name));
}

enum ox_status ox_lint_duplicates(struct ox_linter *lint)
{
    size_t n, kept = 0;
    struct weight *list = new_list(lint->model, &n);
    enum ox_status status = OX_OK;
    if (!list)
        return ox_lint_no_memory(lint);
    for (size_t i = 0; i < n; i++)
        if (may_repeat(&list[i]))
            list[kept++] = list[i];
    if (kept)
        qsort(list, kept, sizeof *list, by_shape_and_mark);
    for (size_t i = 0; i < kept && status == OX_OK; i++) {
        bool alone = (i == 0 || compare_shape(&list[i - 1], &list[i]) != 0) &&
                     (i + 1 == kept || compare_shape(&list[i], &list[i + 1]) != 0);
        struct ox_tensor *tensor;
        if (!alone && load(lint, &list[i], &tensor)) {
            list[i].mark = mark_of(tensor);
            ox_tensor_release(tensor);
        }
        status = ox_env_poll(lint->model->env, lint->err);
    }
    if (kept)
        qsort(list, kept, sizeof *list, by_shape_and_mark);
    for (size_t i = 1, first = 0; i < kept && status == OX_OK; i++) {
        bool alike = list[i].mark && list[first].mark == list[i].mark &&
                     compare_shape(&list[first], &list[i]) == 0;
        if (!alike || !same_data(lint, &list[first], &list[i]))
            first = i;
        else if (!shares_place(&list[first], &list[i]))
            report_duplicate(lint, &list[i], &list[first]);
        status = ox_env_poll(lint->model->env, lint->err);
    }
    free(list);
    return status;
}
