#include "quant/samples.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/env.h"
#include "model/name.h"
#include "runtime/runtime.h"
#include "tensor/io/tensor_rows.h"

/* A file of arrays, or a folder of input_N.pb. */
struct source {
    char *path;
    bool folder;
    bool whole; /* its arrays have not the same number of rows, so they are one feed together */
    uint64_t n_feeds;
};

struct ox_samples {
    struct ox_env *env;
    const struct ox_session *session;
    size_t n_inputs;
    enum ox_first_axis *first; /* by input */
    struct source *sources;
    size_t n_sources, cap_sources;
    size_t at;                   /* source */
    uint64_t feed;               /* of the source */
    struct ox_tensor_file *file; /* of the source that is open; by input either */
    struct array {
        struct ox_tensor_rows *rows; /* of which each feed takes some, */
        struct ox_tensor *whole;     /* or what each feed has */
        int64_t n_rows;              /* that a feed takes */
        bool drop;                   /* that dimension */
    } * arrays;
    struct ox_datum **inputs; /* the feed */
    size_t guessed;           /* 1 + an input that may begin with time as well */
    int64_t batch;            /* rows that a feed takes where the model does not say how many */
};

/* ---- What there is ------------------------------------------------------------------------------------------------ */

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

static enum ox_status add_source(struct ox_samples *s, const char *path, bool folder,
                                 struct ox_error *err)
{
    if (s->n_sources == s->cap_sources) {
        size_t cap = s->cap_sources ? 2 * s->cap_sources : 16;
        struct source *grown = realloc(s->sources, cap * sizeof *grown);
        if (!grown)
            return ox_no_memory(err);
        s->sources = grown;
        s->cap_sources = cap;
    }
    char *copy = strdup(path);
    if (!copy)
        return ox_no_memory(err);
    s->sources[s->n_sources++] =
        (struct source){.path = copy, .folder = folder, .n_feeds = folder ? 1 : 0};
    return OX_OK;
}

static bool exists(const char *folder, const char *name)
{
    struct ox_strbuf path = {0};
    struct stat info;
    ox_strbuf_printf(&path, "%s/%s", folder, name);
    bool is = !path.failed && stat(path.data, &info) == 0;
    ox_strbuf_release(&path);
    return is;
}

static int is_visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

/* depth: folders below this one that are looked into. */
static enum ox_status add_path(struct ox_samples *s, const char *path, int depth, bool asked,
                               struct ox_error *err)
{
    struct stat info;
    char shown[OX_SHOWN_BYTES];
    ox_shown(shown, path, strlen(path));
    if (stat(path, &info) != 0)
        return ox_fail(err, OX_INPUT, "%s: there is no such file or folder", shown);
    if (!S_ISDIR(info.st_mode)) {
        if (asked || ends_with(path, ".npz") || ends_with(path, ".npy"))
            return add_source(s, path, false, err);
        return OX_OK;
    }
    if (exists(path, "input_0.pb"))
        return add_source(s, path, true, err);
    if (depth == 0)
        return OX_OK;
    struct dirent **entries = NULL;
    int n = scandir(path, &entries, is_visible, versionsort);
    enum ox_status status = OX_OK;
    size_t before = s->n_sources;
    for (int i = 0; i < n; i++) {
        struct ox_strbuf inner = {0};
        ox_strbuf_printf(&inner, "%s/%s", path, entries[i]->d_name);
        if (status == OX_OK)
            status =
                inner.failed ? ox_no_memory(err) : add_path(s, inner.data, depth - 1, false, err);
        ox_strbuf_release(&inner);
        free(entries[i]);
    }
    free(entries);
    if (status == OX_OK && asked && s->n_sources == before)
        return ox_fail(err, OX_INPUT, "%s: holds no .npz, .npy or input_0.pb", shown);
    return status;
}

/* ---- Arrays ------------------------------------------------------------------------------------------------------- */

static void close_source(struct ox_samples *s)
{
    for (size_t i = 0; i < s->n_inputs; i++) {
        ox_tensor_rows_release(s->arrays[i].rows);
        ox_tensor_release(s->arrays[i].whole);
        s->arrays[i] = (struct array){0};
    }
    ox_tensor_file_release(s->file);
    s->file = NULL;
}

/* Which array feeds the input: that of its name, or the only one for the only input. */
static bool array_for(const struct ox_samples *s, const struct ox_tensor_file *file, size_t input,
                      size_t *at)
{
    if (ox_tensor_file_find(file, ox_session_input_name(s->session, input), at))
        return true;
    size_t n_required = 0;
    for (size_t i = 0; i < s->n_inputs; i++)
        n_required += ox_session_input_required(s->session, i);
    *at = 0;
    return ox_tensor_file_count(file) == 1 && n_required <= 1 && input == 0;
}

/* How many rows of an array a feed takes; 0: all of it, each time. *drop: rows are feeds without that dimension. */
static int64_t rows_a_feed(const struct ox_samples *s, size_t input,
                           const struct ox_tensor_file *file, size_t at, bool *drop)
{
    const unsigned rank = ox_tensor_file_rank(file, at);
    const struct ox_port *port = ox_session_input(s->session, input);
    *drop = port->has_rank && port->rank + 1 == rank;
    if (rank == 0 || (port->has_rank && port->rank > rank))
        return 0;
    if (*drop || !port->has_rank)
        return 1;
    if (port->dims[0] > 0)
        return port->dims[0];
    const int64_t rows = ox_tensor_file_dims(file, at)[0];
    if (s->first[input] == OX_FIRST_TIME)
        return 0;
    return s->batch < rows || rows == 0 ? s->batch : rows;
}

static enum ox_status count_feeds(struct ox_samples *s, struct source *source, struct ox_error *err)
{
    struct ox_tensor_file *file;
    OX_TRY(ox_tensor_file_open(&file, s->env, source->path, NULL, err));
    uint64_t n = UINT64_MAX, most = 0;
    bool any_drop = false;
    enum ox_status status = OX_OK;
    for (size_t i = 0; i < s->n_inputs && status == OX_OK; i++) {
        size_t at;
        bool drop;
        if (!array_for(s, file, i, &at)) {
            if (ox_session_input_required(s->session, i))
                status = ox_fail(err, OX_INPUT, "%s: has no array for the input '%s'", source->path,
                                 ox_session_input_name(s->session, i));
            continue;
        }
        int64_t rows = rows_a_feed(s, i, file, at, &drop);
        if (rows > 0) {
            if (!drop && ox_tensor_file_dims(file, at)[0] > 1 && s->first[i] == OX_FIRST_OPEN)
                s->guessed = i + 1;
            uint64_t feeds = (uint64_t)(ox_tensor_file_dims(file, at)[0] / rows);
            n = feeds < n ? feeds : n;
            most = feeds > most ? feeds : most;
            any_drop |= drop;
        }
    }
    ox_tensor_file_release(file);
    source->whole = !any_drop && n > 0 && n < most;
    source->n_feeds = n == UINT64_MAX || source->whole ? 1 : n;
    return status;
}

static enum ox_status open_source(struct ox_samples *s, struct ox_error *err)
{
    OX_TRY(ox_tensor_file_open(&s->file, s->env, s->sources[s->at].path, NULL, err));
    for (size_t i = 0; i < s->n_inputs; i++) {
        struct array *array = &s->arrays[i];
        size_t at;
        if (!array_for(s, s->file, i, &at))
            continue;
        array->n_rows = rows_a_feed(s, i, s->file, at, &array->drop);
        if (array->n_rows > 0 && !s->sources[s->at].whole)
            OX_TRY(ox_tensor_rows_open(&array->rows, s->file, at, err));
        else
            OX_TRY(ox_tensor_file_load(&array->whole, s->file, at, err));
    }
    return OX_OK;
}

static enum ox_status read_pb(struct ox_samples *s, struct ox_error *err)
{
    for (size_t i = 0; i < s->n_inputs; i++) {
        char name[32];
        snprintf(name, sizeof name, "input_%zu.pb", i);
        if (!exists(s->sources[s->at].path, name)) {
            if (ox_session_input_required(s->session, i))
                return ox_fail(err, OX_INPUT, "%s: has no %s", s->sources[s->at].path, name);
            continue;
        }
        struct ox_strbuf path = {0};
        ox_strbuf_printf(&path, "%s/%s", s->sources[s->at].path, name);
        enum ox_status status = path.failed
                                    ? ox_no_memory(err)
                                    : ox_datum_read_pb(&s->inputs[i], s->env, path.data,
                                                       ox_session_input(s->session, i)->type, err);
        ox_strbuf_release(&path);
        if (status != OX_OK)
            return status;
    }
    return OX_OK;
}

/* Of the type that the model's input has. */
static enum ox_status feed_with(struct ox_samples *s, size_t input, struct ox_tensor *tensor,
                                struct ox_error *err)
{
    enum ox_dtype dtype = ox_session_input(s->session, input)->dtype;
    struct ox_tensor *as = NULL;
    if (dtype == OX_UNDEFINED || dtype == OX_STRING || tensor->dtype == OX_STRING)
        return ox_datum_of_tensor(&s->inputs[input], tensor, err);
    OX_TRY(ox_tensor_convert(&as, ox_env_budget(s->env), tensor, dtype, true, err));
    enum ox_status status = ox_datum_of_tensor(&s->inputs[input], as, err);
    ox_tensor_release(as);
    return status;
}

static enum ox_status feed_array(struct ox_samples *s, size_t input, struct ox_error *err)
{
    const struct array *array = &s->arrays[input];
    struct ox_tensor *part, *shaped;
    if (array->whole)
        return feed_with(s, input, array->whole, err);
    OX_TRY(ox_tensor_rows_next(array->rows, array->n_rows, &part, err));
    enum ox_status status =
        ox_tensor_view(&shaped, part, part->rank - array->drop, part->dims + array->drop, err);
    ox_tensor_release(part);
    OX_TRY(status);
    status = feed_with(s, input, shaped, err);
    ox_tensor_release(shaped);
    return status;
}

static enum ox_status read_arrays(struct ox_samples *s, struct ox_error *err)
{
    if (s->feed == 0)
        OX_TRY(open_source(s, err));
    for (size_t i = 0; i < s->n_inputs; i++) {
        if (s->arrays[i].rows || s->arrays[i].whole)
            OX_TRY(feed_array(s, i, err));
    }
    /* What does not fill a batch is looked at too: a damaged file is refused. */
    for (size_t i = 0; i < s->n_inputs && s->feed + 1 == s->sources[s->at].n_feeds; i++) {
        if (s->arrays[i].rows)
            OX_TRY(ox_tensor_rows_finish(s->arrays[i].rows, err));
    }
    return OX_OK;
}

/* ---- In order ----------------------------------------------------------------------------------------------------- */

enum ox_status ox_samples_open(struct ox_samples **out, struct ox_env *env,
                               const struct ox_session *session, const struct ox_samples_from *from,
                               const struct ox_samples_batch *batch, struct ox_error *err)
{
    enum { FOLDERS_DEEP = 2 };
    struct ox_samples *s = calloc(1, sizeof *s);
    if (!s)
        return ox_no_memory(err);
    s->env = env;
    s->session = session;
    s->batch = batch->rows;
    s->n_inputs = ox_session_n_inputs(session);
    s->first = calloc(s->n_inputs + 1, sizeof *s->first);
    s->arrays = calloc(s->n_inputs + 1, sizeof *s->arrays);
    s->inputs = calloc(s->n_inputs + 1, sizeof *s->inputs);
    enum ox_status status = s->first && s->arrays && s->inputs ? OX_OK : ox_no_memory(err);
    for (size_t i = 0; i < s->n_inputs && status == OX_OK; i++)
        s->first[i] = from->first[session->place[i]];
    for (size_t i = 0; i < from->n_paths && status == OX_OK; i++)
        status = add_path(s, from->paths[i], FOLDERS_DEEP, true, err);
    for (size_t i = 0; i < s->n_sources && status == OX_OK; i++) {
        if (!s->sources[i].folder)
            status = count_feeds(s, &s->sources[i], err);
    }
    if (status != OX_OK) {
        ox_samples_release(s);
        return status;
    }
    *out = s;
    return OX_OK;
}

void ox_samples_release(struct ox_samples *s)
{
    if (!s)
        return;
    for (size_t i = 0; s->inputs && i < s->n_inputs; i++)
        ox_datum_release(s->inputs[i]);
    if (s->arrays)
        close_source(s);
    for (size_t i = 0; i < s->n_sources; i++)
        free(s->sources[i].path);
    free(s->sources);
    free(s->first);
    free(s->arrays);
    free(s->inputs);
    free(s);
}

void ox_samples_blame(const struct ox_samples *s, enum ox_status status, struct ox_error *err)
{
    struct ox_error own;
    bool misnamed;
    if (status != OX_INPUT || ox_ports_check(s->session, s->inputs, &misnamed, &own) != OX_INPUT ||
        misnamed)
        return;
    ox_fail_context(err, status, "the sample %.300s", s->sources[s->at].path);
    ox_fail_model(err, status, s->session->model);
}

size_t ox_samples_guessed(const struct ox_samples *s)
{
    return s->guessed;
}

uint64_t ox_samples_count(const struct ox_samples *s)
{
    uint64_t n = 0;
    for (size_t i = 0; i < s->n_sources; i++)
        n += s->sources[i].n_feeds;
    return n;
}

enum ox_status ox_samples_next(struct ox_samples *s, struct ox_datum *const **feed, bool *more,
                               struct ox_error *err)
{
    for (size_t i = 0; i < s->n_inputs; i++) {
        ox_datum_release(s->inputs[i]);
        s->inputs[i] = NULL;
    }
    while (s->at < s->n_sources && s->feed >= s->sources[s->at].n_feeds) {
        close_source(s);
        s->at++;
        s->feed = 0;
    }
    *more = s->at < s->n_sources;
    if (!*more)
        return OX_OK;
    const struct source *source = &s->sources[s->at];
    OX_TRY(source->folder ? read_pb(s, err) : read_arrays(s, err));
    s->feed++;
    *feed = s->inputs;
    return OX_OK;
}

/* ---- Batches that the model does not tell ------------------------------------------------------------------------- */

int64_t ox_samples_wider(const struct ox_samples *s, enum ox_status status)
{
    if (status != OX_INPUT && status != OX_UNSUPPORTED)
        return 0;
    for (size_t i = 0; i < s->n_inputs && !s->sources[s->at].whole; i++) {
        const struct ox_port *port = ox_session_input(s->session, i);
        const bool open = port->has_rank && port->rank && port->dims[0] <= 0;
        size_t at;
        if (s->arrays[i].rows && open && !s->arrays[i].drop && array_for(s, s->file, i, &at) &&
            ox_tensor_file_dims(s->file, at)[0] > s->batch)
            return 2 * s->batch;
    }
    return 0;
}

enum ox_status ox_samples_try(enum ox_status (*run)(void *arg, struct ox_samples_batch *batch,
                                                    struct ox_error *err),
                              void *arg, struct ox_error *err)
{
    struct ox_samples_batch batch = {.rows = 1};
    enum ox_status status = run(arg, &batch, err);
    while (batch.wider) {
        struct ox_error other;
        batch = (struct ox_samples_batch){.rows = batch.wider};
        const enum ox_status now = run(arg, &batch, &other);
        if (now == OX_OK)
            return now;
        if (!batch.wider && now != OX_INPUT && now != OX_UNSUPPORTED) {
            *err = other;
            return now;
        }
    }
    return status;
}
