/* What a model keeps in other files, and what is wrong with it. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/external.h"

enum { PAGE = 4096, LINE = 64 };

struct source {
    const struct ox_stored *stored;
    const struct ox_graph *graph; /* NULL: of a function's default */
};

struct entry {
    struct ox_external_entry shown;
    const struct ox_stored *stored;
    size_t file;
    bool good; /* its bytes are known and within the file */
};

struct file {
    const char *location;
    uint64_t bytes, used;
    bool there;
};

struct ox_external_report {
    struct ox_arena arena;
    struct entry *entries;
    size_t n_entries, cap_entries;
    struct file *files;
    size_t n_files, cap_files;
    struct ox_external_problem *problems;
    size_t n_problems, cap_problems;
};

struct inspector {
    struct ox_external_report *report;
    struct ox_model *model;
    struct ox_error *err;
};

static enum ox_status no_room(const struct inspector *s)
{
    return ox_fail(s->err, OX_NO_MEMORY, "%s: out of memory", s->model->path);
}

/* Room for one more element in an array of the report's arena. */
static bool reserve(struct ox_arena *arena, void *array, size_t n, size_t *cap, size_t size)
{
    if (n < *cap)
        return true;
    size_t more = *cap ? *cap * 2 : 16;
    void *old, *grown = ox_arena_array(arena, more, size);
    if (!grown)
        return false;
    memcpy(&old, array, sizeof old);
    if (n)
        memcpy(grown, old, n * size);
    memcpy(array, &grown, sizeof grown);
    *cap = more;
    return true;
}

static enum ox_status add_problem(struct inspector *s, bool error, const char *location,
                                  const char *tensor, const char *format, ...) OX_PRINTF(5, 6);

static enum ox_status add_problem(struct inspector *s, bool error, const char *location,
                                  const char *tensor, const char *format, ...)
{
    struct ox_external_report *r = s->report;
    char text[OX_ERROR_BYTES];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    char *message = ox_arena_strdup(&r->arena, text);
    if (!message ||
        !reserve(&r->arena, &r->problems, r->n_problems, &r->cap_problems, sizeof *r->problems))
        return no_room(s);
    r->problems[r->n_problems++] = (struct ox_external_problem){error, location, tensor, message};
    return OX_OK;
}

/* ---- Entries ------------------------------------------------------------------------------------------------------ */

static enum ox_status file_of(struct inspector *s, const char *location, size_t *number)
{
    struct ox_external_report *r = s->report;
    const struct ox_mapping *map;
    struct ox_error why;
    for (*number = 0; *number < r->n_files; ++*number) {
        if (strcmp(r->files[*number].location, location) == 0)
            return OX_OK;
    }
    char *copy = ox_arena_strdup(&r->arena, location);
    if (!copy || !reserve(&r->arena, &r->files, r->n_files, &r->cap_files, sizeof *r->files))
        return no_room(s);
    struct file *file = &r->files[r->n_files++];
    *file = (struct file){.location = copy};
    file->there = ox_external_open(s->model, location, &map, &why) == OX_OK;
    if (file->there)
        file->bytes = map->bytes;
    return OX_OK;
}

static enum ox_status add_stored(struct inspector *s, const struct ox_stored *stored,
                                 const struct ox_graph *graph)
{
    struct ox_external_report *r = s->report;
    struct ox_external_keys keys;
    struct ox_strbuf path;
    struct ox_error why = {0};
    size_t n = 0, file = 0;
    uint64_t bytes = 0;
    if (!stored || stored->place != OX_STORED_EXTERNAL)
        return OX_OK;
    enum ox_status status = ox_external_keys(&keys, stored->proto, &why);
    const char *tensor = ox_arena_strdup(&r->arena, stored->name);
    if (keys.location)
        OX_TRY(file_of(s, keys.location, &file));
    bool sized = ox_dims_count(stored->rank, stored->dims, &n) &&
                 ox_dtype_packed_bytes(stored->dtype, n, &bytes);
    if (status == OX_OK)
        status = ox_stored_verify(s->model, stored, &why);
    if (status == OX_NO_MEMORY || status == OX_CANCELLED)
        return ox_fail(s->err, status, "%s", why.message);
    if (status != OX_OK)
        OX_TRY(add_problem(s, true, keys.location ? r->files[file].location : NULL, tensor, "%s",
                           why.message));
    ox_strbuf_init(&path);
    if (graph)
        ox_graph_path(&path, graph);
    char *place = ox_arena_text(&r->arena, &path);
    ox_strbuf_release(&path);
    if (!tensor || !place ||
        !reserve(&r->arena, &r->entries, r->n_entries, &r->cap_entries, sizeof *r->entries))
        return no_room(s);
    r->entries[r->n_entries++] =
        (struct entry){.shown = {.tensor = tensor,
                                 .graph = place,
                                 .location = keys.location ? r->files[file].location : "",
                                 .offset = keys.offset,
                                 .bytes = bytes,
                                 .checked = keys.checksum != NULL},
                       .stored = stored,
                       .file = file,
                       .good = status == OX_OK && sized && keys.location};
    return OX_OK;
}

static enum ox_status add_attrs(struct inspector *s, const struct ox_attr *attrs, size_t n,
                                const struct ox_graph *graph)
{
    for (size_t i = 0; i < n; i++) {
        const struct ox_attr *attr = &attrs[i];
        for (size_t j = 0; j < attr->n && !attr->ref; j++) {
            if (attr->type == OX_ATTR_TENSOR || attr->type == OX_ATTR_TENSORS) {
                OX_TRY(add_stored(s, &attr->tensor[j], graph));
            } else if (attr->type == OX_ATTR_SPARSE_TENSOR ||
                       attr->type == OX_ATTR_SPARSE_TENSORS) {
                OX_TRY(add_stored(s, attr->sparse[j].values, graph));
                OX_TRY(add_stored(s, attr->sparse[j].indices, graph));
            } else {
                break;
            }
        }
    }
    return OX_OK;
}

static enum ox_status add_all(struct inspector *s)
{
    const struct ox_model *model = s->model;
    for (size_t g = 0; g < model->n_graphs; g++) {
        const struct ox_graph *graph = model->graphs[g];
        for (size_t i = 0; i < graph->n_inits; i++)
            OX_TRY(add_stored(s, graph->inits[i], graph));
        for (size_t i = 0; i < graph->n_sparse_inits; i++) {
            OX_TRY(add_stored(s, graph->sparse_inits[i]->values, graph));
            OX_TRY(add_stored(s, graph->sparse_inits[i]->indices, graph));
        }
        for (size_t i = 0; i < graph->n_nodes; i++)
            OX_TRY(add_attrs(s, graph->nodes[i]->attrs, graph->nodes[i]->n_attrs, graph));
    }
    for (size_t i = 0; i < model->n_functions; i++)
        OX_TRY(add_attrs(s, model->functions[i].attr_defaults, model->functions[i].n_attr_defaults,
                         NULL));
    return OX_OK;
}

/* ---- What lies where ---------------------------------------------------------------------------------------------- */

static int by_place(const void *a, const void *b)
{
    const struct entry *const *x = a, *const *y = b;
    if ((*x)->file != (*y)->file)
        return (*x)->file < (*y)->file ? -1 : 1;
    if ((*x)->shown.offset != (*y)->shown.offset)
        return (*x)->shown.offset < (*y)->shown.offset ? -1 : 1;
    return ((*x)->shown.bytes < (*y)->shown.bytes) - ((*x)->shown.bytes > (*y)->shown.bytes);
}

static enum ox_status look_at_file(struct inspector *s, struct file *file,
                                   struct entry *const *entries, size_t n)
{
    uint64_t end = 0, unused = 0;
    const struct entry *last = NULL;
    for (size_t i = 0; i < n; i++) {
        const struct ox_external_entry *e = &entries[i]->shown;
        if (e->bytes >= PAGE && e->offset % LINE)
            OX_TRY(add_problem(s, false, file->location, e->tensor,
                               "begins at %llu, no multiple of %d: it cannot be mapped in place",
                               (unsigned long long)e->offset, LINE));
        bool same = last && last->shown.offset == e->offset && last->shown.bytes == e->bytes;
        if (e->offset < end && !same)
            OX_TRY(add_problem(s, false, file->location, e->tensor, "overlaps '%s' at offset %llu",
                               last->shown.tensor, (unsigned long long)e->offset));
        if (e->offset > end && e->offset - end >= PAGE)
            unused += e->offset - end;
        if (e->offset + e->bytes > end) {
            file->used += e->offset + e->bytes - (e->offset > end ? e->offset : end);
            end = e->offset + e->bytes;
        }
        if (!same)
            last = entries[i];
    }
    if (file->bytes > end)
        unused += file->bytes - end;
    if (unused)
        OX_TRY(add_problem(s, false, file->location, NULL, "%llu of %llu bytes are no tensor's",
                           (unsigned long long)unused, (unsigned long long)file->bytes));
    return OX_OK;
}

static enum ox_status look_at_files(struct inspector *s)
{
    struct ox_external_report *r = s->report;
    struct entry **list = calloc(r->n_entries + 1, sizeof(*list));
    size_t n = 0;
    if (!list)
        return no_room(s);
    for (size_t i = 0; i < r->n_entries; i++) {
        if (r->entries[i].good)
            list[n++] = &r->entries[i];
    }
    qsort(list, n, sizeof(*list), by_place);
    enum ox_status status = OX_OK;
    for (size_t f = 0, first = 0; f < r->n_files && status == OX_OK; f++) {
        size_t end = first;
        while (end < n && list[end]->file == f)
            end++;
        if (r->files[f].there)
            status = look_at_file(s, &r->files[f], list + first, end - first);
        first = end;
    }
    free(list);
    return status;
}

/* ---- The report --------------------------------------------------------------------------------------------------- */

enum ox_status ox_external_inspect(struct ox_external_report **out, struct ox_model *model,
                                   struct ox_error *err)
{
    struct ox_external_report *report = calloc(1, sizeof *report);
    struct inspector s = {.report = report, .model = model, .err = err};
    if (!report)
        return no_room(&s);
    ox_arena_init(&report->arena, ox_env_budget(model->env));
    enum ox_status status = add_all(&s);
    if (status == OX_OK)
        status = look_at_files(&s);
    if (status == OX_OK)
        *out = report;
    else
        ox_external_report_release(report);
    return status;
}

void ox_external_report_release(struct ox_external_report *report)
{
    if (!report)
        return;
    ox_arena_release(&report->arena);
    free(report);
}

size_t ox_external_entries(const struct ox_external_report *report)
{
    return report->n_entries;
}

const struct ox_external_entry *ox_external_entry_at(const struct ox_external_report *report,
                                                     size_t i)
{
    return &report->entries[i].shown;
}

size_t ox_external_problems(const struct ox_external_report *report)
{
    return report->n_problems;
}

const struct ox_external_problem *ox_external_problem_at(const struct ox_external_report *report,
                                                         size_t i)
{
    return &report->problems[i];
}

size_t ox_external_files(const struct ox_external_report *report)
{
    return report->n_files;
}

const char *ox_external_file_at(const struct ox_external_report *report, size_t i, uint64_t *bytes,
                                uint64_t *used)
{
    *bytes = report->files[i].bytes;
    *used = report->files[i].used;
    return report->files[i].location;
}
