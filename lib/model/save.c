#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/forget.h"
#include "model/external.h"
#include "model/format.h"
#include "model/lower.h"
#include "model/name.h"

enum {
    DEFAULT_THRESHOLD = 1024,
    /* Big tensors start on a page, so that they can be mapped; small ones on a cache line. */
    PAGE = 4096,
    LINE = 64
};

struct saver {
    struct ox_model *model;
    const char *path;
    char *dir; /* of the target; NULL for "-" */
    const struct ox_save_options *options;
    struct ox_move *moves;
    size_t n_moves;
    struct ox_error *err;
};

/* ---- Moving initializers to a file of their own ----------------------------------------------------------------------- */

/* Bytes of the data when packed; false when it stays in the message. */
static bool movable(const struct ox_stored *stored, uint64_t threshold, uint64_t *bytes)
{
    size_t n;
    return (stored->place == OX_STORED_RAW || stored->place == OX_STORED_EXTERNAL ||
            stored->place == OX_STORED_TENSOR) &&
           ox_dims_count(stored->rank, stored->dims, &n) &&
           ox_dtype_packed_bytes(stored->dtype, n, bytes) && *bytes >= threshold && *bytes > 0;
}

static enum ox_status plan_moves(struct saver *s)
{
    const struct ox_model *model = s->model;
    uint64_t threshold =
        s->options->external_threshold ? s->options->external_threshold : DEFAULT_THRESHOLD;
    size_t n = 0;
    for (size_t g = 0; g < model->n_graphs; g++)
        n += model->graphs[g]->n_inits;
    s->moves = calloc(n ? n : 1, sizeof *s->moves);
    if (!s->moves)
        return ox_fail(s->err, OX_NO_MEMORY, "%s: out of memory", s->path);
    uint64_t at = 0;
    for (size_t g = 0; g < model->n_graphs; g++) {
        for (size_t i = 0; i < model->graphs[g]->n_inits; i++) {
            const struct ox_stored *stored = model->graphs[g]->inits[i];
            uint64_t bytes;
            if (!movable(stored, threshold, &bytes))
                continue;
            uint64_t unit = bytes >= PAGE ? PAGE : LINE;
            if (OX_ADD_OVERFLOWS(at, unit - 1, &at))
                return ox_fail(s->err, OX_LIMIT, "%s: the weights are too large", s->path);
            at -= at % unit;
            s->moves[s->n_moves++] =
                (struct ox_move){.stored = stored, .offset = at, .bytes = bytes};
            if (OX_ADD_OVERFLOWS(at, bytes, &at))
                return ox_fail(s->err, OX_LIMIT, "%s: the weights are too large", s->path);
        }
    }
    return OX_OK;
}

static enum ox_status write_zeros(struct ox_outfile *file, uint64_t n, struct ox_error *err)
{
    static const uint8_t zeros[PAGE];
    return ox_outfile_write(file, zeros, (size_t)n, err);
}

static enum ox_status write_tensor(struct ox_outfile *file, const struct ox_tensor *tensor,
                                   uint64_t bytes, struct ox_error *err)
{
    size_t size = ox_dtype_size(tensor->dtype);
    if (ox_dtype_bits(tensor->dtype) == 8 * size && !OX_BIG_ENDIAN)
        return ox_outfile_write(file, tensor->data, (size_t)bytes, err);
    void *packed = malloc((size_t)bytes);
    if (!packed)
        return ox_fail(err, OX_NO_MEMORY, "no memory for %llu bytes", (unsigned long long)bytes);
    ox_tensor_pack(tensor->dtype, tensor->data, tensor->n, packed);
    enum ox_status status = ox_outfile_write(file, packed, (size_t)bytes, err);
    free(packed);
    return status;
}

static enum ox_status write_move(struct saver *s, struct ox_outfile *file,
                                 const struct ox_move *move)
{
    const struct ox_stored *stored = move->stored;
    const uint8_t *bytes = stored->raw;
    enum ox_status status = OX_OK;
    if (stored->place == OX_STORED_TENSOR)
        return write_tensor(file, stored->tensor, move->bytes, s->err);
    if (stored->place == OX_STORED_EXTERNAL)
        status = ox_external_find(s->model, stored, move->bytes, &bytes, s->err);
    else if (stored->raw_bytes != move->bytes)
        status = ox_fail(s->err, OX_INPUT, "raw_data has %llu bytes where type and dims need %llu",
                         (unsigned long long)stored->raw_bytes, (unsigned long long)move->bytes);
    if (status != OX_OK)
        return ox_fail_tensor(s->err, status, s->model, stored);
    return ox_outfile_write(file, bytes, (size_t)move->bytes, s->err);
}

static int by_address(const void *a, const void *b)
{
    uintptr_t x = (uintptr_t)((const struct ox_move *)a)->stored;
    uintptr_t y = (uintptr_t)((const struct ox_move *)b)->stored;
    return (x > y) - (x < y);
}

static enum ox_status write_moves(struct saver *s, struct ox_outfile **out)
{
    const char *location = s->options->external_location;
    const char *fault = ox_location_fault(location);
    struct ox_name shown;
    if (!s->dir)
        return ox_fail(s->err, OX_USAGE, "%s: external data needs a target that is a file",
                       s->path);
    if (fault || strchr(location, '/') || strcmp(location, ox_path_base(s->path)) == 0)
        return ox_fail(s->err, OX_USAGE, "external data \"%s\": %s", ox_name(&shown, location),
                       fault ? fault : "it must be a file of its own beside the model");
    OX_TRY(plan_moves(s));
    char *path = malloc(strlen(s->dir) + strlen(location) + 2);
    if (!path)
        return ox_fail(s->err, OX_NO_MEMORY, "%s: out of memory", s->path);
    sprintf(path, "%s/%s", s->dir, location);
    struct ox_outfile *file = NULL;
    enum ox_status status = ox_outfile_open(&file, path, s->err);
    free(path);
    for (size_t i = 0; i < s->n_moves && status == OX_OK; i++) {
        status = write_zeros(file, s->moves[i].offset - ox_outfile_position(file), s->err);
        if (status == OX_OK)
            status = write_move(s, file, &s->moves[i]);
        if (status == OX_OK)
            status = ox_env_poll(s->model->env, s->err);
    }
    qsort(s->moves, s->n_moves, sizeof *s->moves, by_address);
    *out = file;
    return status;
}

/* ---- External files that the model goes on naming --------------------------------------------------------------------- */

static bool same_folder(const char *a, const char *b)
{
    struct stat x, y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* The folders of the location, made beneath the target's. */
static enum ox_status make_folders(struct saver *s, char *path)
{
    for (char *slash = strchr(path + strlen(s->dir) + 1, '/'); slash;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        int failed = mkdir(path, 0777);
        if (failed && errno != EEXIST)
            return ox_fail(s->err, OX_IO, "%s: the folder cannot be made: %s", path,
                           strerror(errno));
        *slash = '/';
    }
    return OX_OK;
}

/* Whether the target's folder has the file already; one with other content is another model's. */
static enum ox_status already_there(struct saver *s, const char *location,
                                    const struct ox_mapping *map, bool *there)
{
    struct ox_model beside = {.env = s->model->env, .dir = s->dir, .path = s->model->path};
    ox_arena_init(&beside.arena, s->model->arena.budget);
    const struct ox_mapping *old;
    *there = false;
    enum ox_status status = OX_OK;
    if (ox_external_open(&beside, location, &old, NULL) == OX_OK) {
        *there = old->bytes == map->bytes && ox_mapping_equal(old->data, map->data, map->bytes);
        if (!*there)
            status = ox_fail(s->err, OX_IO,
                             "%s/%s: is there already and differs from the model's external data "
                             "of that name: remove it or choose another folder",
                             s->dir, location);
    }
    ox_externals_release(beside.externals);
    ox_arena_release(&beside.arena);
    return status;
}

static enum ox_status copy_file(struct saver *s, const char *location)
{
    const struct ox_mapping *map;
    bool there;
    OX_TRY(ox_external_open(s->model, location, &map, s->err));
    OX_TRY(already_there(s, location, map, &there));
    if (there)
        return OX_OK;
    char *path = malloc(strlen(s->dir) + strlen(location) + 2);
    if (!path)
        return ox_fail(s->err, OX_NO_MEMORY, "%s: out of memory", s->path);
    sprintf(path, "%s/%s", s->dir, location);
    struct ox_outfile *file = NULL;
    enum ox_status status = make_folders(s, path);
    if (status == OX_OK)
        status = ox_outfile_open(&file, path, s->err);
    if (status == OX_OK)
        status = ox_outfile_write(file, map->data, map->bytes, s->err);
    if (status == OX_OK)
        status = ox_outfile_commit(file, s->err);
    ox_outfile_release(file);
    free(path);
    return status;
}

/* Every external tensor that the written model refers to, by the same walk as the writing: its file is copied once. */
struct copier {
    struct saver *saver;
    struct ox_strmap done;
    enum ox_status status;
};

static void copy_stored(struct copier *c, const struct ox_stored *stored)
{
    if (c->status != OX_OK || !stored || stored->place != OX_STORED_EXTERNAL || !stored->location)
        return;
    uint32_t one = 1;
    bool is_new;
    if (!ox_strmap_add(&c->done, stored->location, strlen(stored->location), &one, &is_new)) {
        c->status = ox_fail(c->saver->err, OX_NO_MEMORY, "%s: out of memory", c->saver->path);
    } else if (is_new) {
        c->status = copy_file(c->saver, stored->location);
        if (c->status != OX_OK)
            ox_fail_tensor(c->saver->err, c->status, c->saver->model, stored);
    }
}

static void copy_sparse(struct copier *c, const struct ox_stored_sparse *sparse)
{
    copy_stored(c, sparse->values);
    copy_stored(c, sparse->indices);
}

static void copy_attrs(struct copier *c, const struct ox_attr *attrs, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct ox_attr *attr = &attrs[i];
        for (size_t j = 0; j < attr->n; j++) {
            if (attr->type == OX_ATTR_TENSOR || attr->type == OX_ATTR_TENSORS)
                copy_stored(c, &attr->tensor[j]);
            else if (attr->type == OX_ATTR_SPARSE_TENSOR || attr->type == OX_ATTR_SPARSE_TENSORS)
                copy_sparse(c, &attr->sparse[j]);
            else
                break;
        }
    }
}

static enum ox_status copy_externals(struct saver *s)
{
    const struct ox_model *model = s->model;
    struct copier c = {.saver = s};
    ox_strmap_init(&c.done);
    for (size_t g = 0; g < model->n_graphs; g++) {
        const struct ox_graph *graph = model->graphs[g];
        /* With a file of their own, initializers are moved or inlined. */
        for (size_t i = 0; i < graph->n_inits && !s->options->external_location; i++)
            copy_stored(&c, graph->inits[i]);
        for (size_t i = 0; i < graph->n_sparse_inits; i++)
            copy_sparse(&c, graph->sparse_inits[i]);
        for (size_t i = 0; i < graph->n_nodes; i++)
            copy_attrs(&c, graph->nodes[i]->attrs, graph->nodes[i]->n_attrs);
    }
    for (size_t i = 0; i < model->n_functions; i++)
        copy_attrs(&c, model->functions[i].attr_defaults, model->functions[i].n_attr_defaults);
    ox_strmap_release(&c.done);
    return c.status;
}

/* ---- Saving ----------------------------------------------------------------------------------------------------------- */

enum ox_status ox_model_to_buffer(struct ox_model *model, struct ox_strbuf *out,
                                  struct ox_error *err)
{
    struct ox_lower lower = {.model = model};
    return ox_emit_to_buffer(out, 0, model->path, ox_lower_model, &lower, err);
}

static enum ox_status flush_print(void *arg, struct ox_strbuf *buf, struct ox_error *err)
{
    OX_TRY(ox_outfile_write(arg, buf->data, buf->len, err));
    ox_strbuf_clear(buf);
    return OX_OK;
}

/* Text and JSON are printed from messages: those that the protobuf form would be read as. */
static enum ox_status print_model(struct saver *s, struct ox_lower *lower, enum ox_format format,
                                  struct ox_outfile *file)
{
    struct ox_strbuf bytes, text;
    struct ox_model *copy = NULL;
    ox_strbuf_init(&bytes);
    ox_strbuf_init(&text);
    enum ox_status status =
        ox_emit_to_buffer(&bytes, INT32_MAX, s->path, ox_lower_model, lower, s->err);
    if (status == OX_OK)
        status = ox_model_open_memory(&copy, s->model->env, bytes.data, bytes.len, NULL, s->err);
    if (status == OX_OK)
        status = ox_model_print(
            &text, copy,
            &(struct ox_model_print_options){
                .format = format, .pretty = true, .flush = flush_print, .flush_arg = file},
            s->err);
    ox_model_release(copy);
    ox_strbuf_release(&text);
    ox_strbuf_release(&bytes);
    return status;
}

static enum ox_status write_model(struct saver *s, enum ox_format format, struct ox_outfile *file)
{
    struct ox_lower lower = {
        .model = s->model,
        .inline_external = s->options->inline_external,
        .location = s->options->external_location,
        .moves = s->moves,
        .n_moves = s->n_moves,
    };
    if (format != OX_FORMAT_PROTOBUF)
        return print_model(s, &lower, format, file);
    return ox_emit_to_file(file, INT32_MAX, s->path, ox_lower_model, &lower, s->err);
}

static enum ox_status save_files(struct saver *s, enum ox_format format)
{
    bool elsewhere = !s->dir || !s->model->dir || !same_folder(s->dir, s->model->dir);
    struct ox_outfile *data = NULL, *file = NULL;
    enum ox_status status = OX_OK;
    if (s->options->external_location)
        status = write_moves(s, &data);
    if (status == OX_OK && elsewhere && s->dir && s->model->dir && !s->options->inline_external)
        status = copy_externals(s);
    if (status == OX_OK)
        status = ox_outfile_open(&file, s->path, s->err);
    if (status == OX_OK)
        status = write_model(s, format, file);
    /* Both files are complete before either is put in place. */
    if (status == OX_OK && data)
        status = ox_outfile_commit(data, s->err);
    if (status == OX_OK)
        status = ox_outfile_commit(file, s->err);
    ox_outfile_release(file);
    ox_outfile_release(data);
    return status;
}

enum ox_status ox_model_save(struct ox_model *model, const char *path,
                             const struct ox_save_options *options, struct ox_error *err)
{
    static const struct ox_save_options defaults = {0};
    struct saver s = {
        .model = model, .path = path, .options = options ? options : &defaults, .err = err};
    enum ox_format format = s.options->format;
    if (format == OX_FORMAT_AUTO)
        format = ox_format_of_name(path);
    if (strcmp(path, "-") != 0) {
        s.dir = ox_path_dir(path);
        if (!s.dir)
            return ox_fail(err, OX_NO_MEMORY, "%s: out of memory", path);
    }
    enum ox_status status = save_files(&s, format);
    free(s.moves);
    free(s.dir);
    return status;
}
