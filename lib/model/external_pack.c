/* Weights into files of their own: planned first, then written file by file, the model last. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/forget.h"
#include "model/external.h"
#include "model/format.h"
#include "model/lower.h"
#include "model/name.h"

enum { DEFAULT_THRESHOLD = 1024, PAGE = 4096, LINE = 64, BLOCK = 1 << 20, MOST_FILES = 100000 };

struct file {
    char *location;
    uint64_t bytes;
    char checksum[41];
};

struct item {
    const struct ox_stored *stored;
    uint64_t bytes;
    size_t order; /* as in the model */
    size_t same;  /* the item that it shares its bytes with: itself, or an earlier one */
    size_t file;
    uint64_t offset;
};

struct packer {
    struct ox_model *model;
    const char *path;
    char *dir;
    const struct ox_external_pack_options *options;
    struct item *items;
    size_t n_items;
    struct file *files;
    size_t n_files, cap_files, n_placed;
    struct ox_move *moves;
    struct ox_error *err;
};

static enum ox_status no_room(const struct packer *p)
{
    return ox_fail(p->err, OX_NO_MEMORY, "%s: out of memory", p->path);
}

/* ---- Where data lies ---------------------------------------------------------------------------------------------- */

/* The packed bytes of a tensor as they lie in a file or in memory; *tensor is what must be released after, if it was decoded. */
static enum ox_status find_bytes(struct packer *p, const struct item *item, const uint8_t **bytes,
                                 uint8_t **owned)
{
    const struct ox_stored *stored = item->stored;
    struct ox_tensor *tensor = NULL;
    enum ox_status status = OX_OK;
    *owned = NULL;
    if (stored->place == OX_STORED_EXTERNAL) {
        status = ox_external_find(p->model, stored, item->bytes, bytes, p->err);
    } else if (stored->place == OX_STORED_RAW) {
        *bytes = stored->raw;
        if (stored->raw_bytes != item->bytes)
            status =
                ox_fail(p->err, OX_INPUT, "raw_data has %llu bytes where type and dims need %llu",
                        (unsigned long long)stored->raw_bytes, (unsigned long long)item->bytes);
    } else {
        status = ox_stored_load(p->model, stored, &tensor, p->err);
        if (status != OX_OK)
            return status;
        *owned = malloc((size_t)item->bytes);
        if (*owned)
            ox_tensor_pack(tensor->dtype, tensor->data, tensor->n, *owned);
        else
            status = no_room(p);
        *bytes = *owned;
        ox_tensor_release(tensor);
    }
    return status == OX_OK ? OX_OK : ox_fail_tensor(p->err, status, p->model, stored);
}

/* ---- The plan ----------------------------------------------------------------------------------------------------- */

static bool is_big(const struct ox_stored *stored, uint64_t threshold, uint64_t *bytes)
{
    size_t n;
    return stored->place != OX_STORED_NONE && ox_dims_count(stored->rank, stored->dims, &n) &&
           ox_dtype_packed_bytes(stored->dtype, n, bytes) && *bytes >= threshold && *bytes > 0;
}

static enum ox_status list_items(struct packer *p)
{
    const struct ox_model *model = p->model;
    uint64_t threshold = p->options->threshold       ? p->options->threshold
                         : p->options->only_external ? 1
                                                     : DEFAULT_THRESHOLD;
    size_t n = 0;
    for (size_t g = 0; g < model->n_graphs; g++)
        n += model->graphs[g]->n_inits;
    p->items = calloc(n + 1, sizeof *p->items);
    if (!p->items)
        return no_room(p);
    for (size_t g = 0; g < model->n_graphs; g++) {
        for (size_t i = 0; i < model->graphs[g]->n_inits; i++) {
            struct item *item = &p->items[p->n_items];
            *item = (struct item){.stored = model->graphs[g]->inits[i], .order = p->n_items};
            item->same = p->n_items;
            if (is_big(item->stored, threshold, &item->bytes) &&
                (!p->options->only_external || item->stored->place == OX_STORED_EXTERNAL))
                p->n_items++;
        }
    }
    return OX_OK;
}

static int by_size(const void *a, const void *b)
{
    const struct item *const *x = a, *const *y = b;
    if ((*x)->bytes != (*y)->bytes)
        return (*x)->bytes < (*y)->bytes ? -1 : 1;
    return ((*x)->order > (*y)->order) - ((*x)->order < (*y)->order);
}

static enum ox_status same_bytes(struct packer *p, const struct item *a, const struct item *b,
                                 bool *same)
{
    const uint8_t *x, *y;
    uint8_t *own_x = NULL, *own_y = NULL;
    enum ox_status status = find_bytes(p, a, &x, &own_x);
    if (status == OX_OK)
        status = find_bytes(p, b, &y, &own_y);
    *same = status == OX_OK && ox_mapping_equal(x, y, (size_t)a->bytes);
    free(own_x);
    free(own_y);
    return status;
}

/* Equal tensors share their bytes; those of one size are held against each other. */
static enum ox_status find_shared(struct packer *p)
{
    struct item **list = calloc(p->n_items + 1, sizeof(*list));
    enum ox_status status = list ? OX_OK : no_room(p);
    for (size_t i = 0; list && i < p->n_items; i++)
        list[i] = &p->items[i];
    if (list)
        qsort(list, p->n_items, sizeof(*list), by_size);
    for (size_t i = 0; i < p->n_items && status == OX_OK; i++) {
        bool same = false;
        for (size_t k = i;
             k-- > 0 && list[k]->bytes == list[i]->bytes && !same && status == OX_OK;) {
            if (list[k]->same != list[k]->order)
                continue;
            status = same_bytes(p, list[k], list[i], &same);
            if (same)
                list[i]->same = list[k]->order;
        }
        if (status == OX_OK)
            status = ox_env_poll(p->model->env, p->err);
    }
    free(list);
    return status;
}

static bool exists(const struct packer *p, const char *location)
{
    char *path = malloc(strlen(p->dir) + strlen(location) + 2);
    struct stat info;
    if (!path)
        return true;
    sprintf(path, "%s/%s", p->dir, location);
    bool there = lstat(path, &info) == 0;
    free(path);
    return there;
}

/* The name of the file number i; with `more` a second, third, ... attempt. From malloc. */
static char *name_file(const struct packer *p, size_t i, unsigned more)
{
    const char *given = p->options->location, *base = ox_path_base(p->path);
    char suffix[64] = "";
    if (p->options->file_a_tensor || p->options->max_file)
        snprintf(suffix, sizeof suffix, ".%zu", i);
    char *name = malloc(strlen(given ? given : base) + sizeof suffix + 32);
    if (!name)
        return NULL;
    if (given)
        sprintf(name, "%s%s", given, suffix);
    else if (more)
        sprintf(name, "%s.data-%u%s", base, more, suffix);
    else
        sprintf(name, "%s.data%s", base, suffix);
    return name;
}

/* A file that is there already belongs to a model, perhaps the one that is to be replaced: it stays. */
static enum ox_status add_file(struct packer *p)
{
    enum { MOST_TRIES = 10000 };
    if (p->n_files >= MOST_FILES)
        return ox_fail(p->err, OX_LIMIT, "%s: more than %d files of weights", p->path, MOST_FILES);
    if (p->n_files == p->cap_files) {
        size_t cap = p->cap_files ? p->cap_files * 2 : 8;
        struct file *files = realloc(p->files, cap * sizeof *files);
        if (!files)
            return no_room(p);
        p->files = files;
        p->cap_files = cap;
    }
    char *name = name_file(p, p->n_files, 0);
    for (unsigned more = 2; name && exists(p, name) && !p->options->location && more < MOST_TRIES;
         more++) {
        free(name);
        name = name_file(p, p->n_files, more);
    }
    if (!name)
        return no_room(p);
    p->files[p->n_files++] = (struct file){.location = name};
    if (exists(p, name))
        return ox_fail(p->err, OX_IO, "%s/%s: is there already: remove it or choose another name",
                       p->dir, name);
    return OX_OK;
}

static enum ox_status place_item(struct packer *p, struct item *item)
{
    const struct ox_external_pack_options *options = p->options;
    uint64_t unit = options->alignment ? options->alignment : item->bytes >= PAGE ? PAGE : LINE;
    struct file *file = p->n_files ? &p->files[p->n_files - 1] : NULL;
    bool full = file && options->max_file && file->bytes > 0 &&
                (file->bytes > options->max_file || item->bytes > options->max_file - file->bytes);
    if (!file || full || (options->file_a_tensor && file->bytes)) {
        OX_TRY(add_file(p));
        file = &p->files[p->n_files - 1];
    }
    uint64_t at = file->bytes;
    if (OX_ADD_OVERFLOWS(at, unit - 1, &at))
        return ox_fail(p->err, OX_LIMIT, "%s: the weights are too large", p->path);
    at -= at % unit;
    item->file = p->n_files - 1;
    item->offset = at;
    if (OX_ADD_OVERFLOWS(at, item->bytes, &file->bytes))
        return ox_fail(p->err, OX_LIMIT, "%s: the weights are too large", p->path);
    return OX_OK;
}

static enum ox_status place_items(struct packer *p)
{
    for (size_t i = 0; i < p->n_items; i++) {
        struct item *item = &p->items[i];
        if (item->same == i) {
            OX_TRY(place_item(p, item));
        } else {
            item->file = p->items[item->same].file;
            item->offset = p->items[item->same].offset;
        }
    }
    return OX_OK;
}

/* ---- Writing ------------------------------------------------------------------------------------------------------ */

/* From file to file, which the system may do by sharing blocks. *done is false where the data lies in no file. */
static enum ox_status copy_from_file(struct packer *p, const struct item *item,
                                     struct ox_outfile *out, bool *done)
{
    const struct ox_stored *stored = item->stored;
    const struct ox_env *env = p->model->env;
    uint64_t offset = stored->offset;
    int fd = -1;
    *done = false;
    if (stored->place == OX_STORED_EXTERNAL) {
        OX_TRY(ox_open_beneath(p->model->dir, stored->location, env->external, env->external_root,
                               &fd, p->err));
    } else if (stored->place == OX_STORED_RAW && p->model->map.mapped && !p->model->packed) {
        fd = open(p->model->path, O_RDONLY | O_CLOEXEC);
        offset = (uint64_t)(stored->raw - p->model->map.data);
    }
    struct stat info;
    bool same_file =
        fd >= 0 && fstat(fd, &info) == 0 && S_ISREG(info.st_mode) &&
        (stored->place == OX_STORED_EXTERNAL || (uint64_t)info.st_size == p->model->map.bytes);
    enum ox_status status = OX_OK;
    if (same_file) {
        status = ox_outfile_copy(out, fd, offset, item->bytes, p->err);
        *done = true;
    }
    if (fd >= 0)
        close(fd);
    return status;
}

static enum ox_status write_item(struct packer *p, const struct item *item, struct ox_outfile *out,
                                 struct ox_sha1 *sum)
{
    static const uint8_t zeros[PAGE];
    const uint8_t *bytes;
    uint8_t *owned;
    bool copied = false;
    while (ox_outfile_position(out) < item->offset) {
        uint64_t gap = item->offset - ox_outfile_position(out);
        size_t n = gap < PAGE ? (size_t)gap : PAGE;
        OX_TRY(ox_outfile_write(out, zeros, n, p->err));
        ox_sha1_add(sum, zeros, p->options->checksums ? n : 0);
    }
    enum ox_status status = find_bytes(p, item, &bytes, &owned);
    if (status != OX_OK)
        return status;
    if (!owned)
        status = copy_from_file(p, item, out, &copied);
    for (uint64_t at = 0; status == OX_OK && at < item->bytes; at += BLOCK) {
        size_t n = item->bytes - at < BLOCK ? (size_t)(item->bytes - at) : BLOCK;
        if (!copied)
            status = ox_outfile_write(out, bytes + at, n, p->err);
        ox_sha1_add(sum, bytes + at, p->options->checksums ? n : 0);
        if (!owned)
            ox_mapping_forget(bytes + at, n);
        if (status == OX_OK)
            status = ox_env_poll(p->model->env, p->err);
        if (copied && !p->options->checksums)
            break;
    }
    free(owned);
    return status;
}

static char *path_of(const struct packer *p, size_t file)
{
    const char *location = p->files[file].location;
    char *path = malloc(strlen(p->dir) + strlen(location) + 2);
    if (path)
        sprintf(path, "%s/%s", p->dir, location);
    return path;
}

static enum ox_status write_file(struct packer *p, size_t number)
{
    struct ox_outfile *out = NULL;
    struct ox_sha1 sum;
    char *path = path_of(p, number);
    if (!path)
        return no_room(p);
    ox_sha1_init(&sum);
    enum ox_status status = ox_outfile_open(&out, path, p->err);
    for (size_t i = 0; i < p->n_items && status == OX_OK; i++) {
        if (p->items[i].file == number && p->items[i].same == i)
            status = write_item(p, &p->items[i], out, &sum);
    }
    if (status == OX_OK)
        status = ox_outfile_commit(out, p->err);
    p->n_placed += status == OX_OK;
    ox_outfile_release(out);
    free(path);
    uint8_t digest[20];
    ox_sha1_end(&sum, digest);
    for (size_t i = 0; i < 20 && p->options->checksums; i++)
        sprintf(p->files[number].checksum + 2 * i, "%02x", digest[i]);
    return status;
}

static int by_address(const void *a, const void *b)
{
    uintptr_t x = (uintptr_t)((const struct ox_move *)a)->stored;
    uintptr_t y = (uintptr_t)((const struct ox_move *)b)->stored;
    return (x > y) - (x < y);
}

static enum ox_status write_model(struct packer *p)
{
    p->moves = calloc(p->n_items + 1, sizeof *p->moves);
    if (!p->moves)
        return no_room(p);
    for (size_t i = 0; i < p->n_items; i++) {
        const struct item *item = &p->items[i];
        const struct file *file = &p->files[item->file];
        p->moves[i] = (struct ox_move){.stored = item->stored,
                                       .offset = item->offset,
                                       .bytes = item->bytes,
                                       .location = file->location,
                                       .checksum = *file->checksum ? file->checksum : NULL};
    }
    qsort(p->moves, p->n_items, sizeof *p->moves, by_address);
    struct ox_lower lower = {.model = p->model,
                             .location = p->n_files ? p->files[0].location : "",
                             .moves = p->moves,
                             .n_moves = p->n_items};
    struct ox_outfile *out = NULL;
    enum ox_status status = ox_outfile_open(&out, p->path, p->err);
    if (status == OX_OK)
        status = ox_emit_to_file(out, INT32_MAX, p->path, ox_lower_model, &lower, p->err);
    if (status == OX_OK)
        status = ox_outfile_commit(out, p->err);
    ox_outfile_release(out);
    return status;
}

/* ---- All of it ---------------------------------------------------------------------------------------------------- */

static enum ox_status check_options(struct packer *p)
{
    const char *location = p->options->location;
    const char *fault = location ? ox_location_fault(location) : NULL;
    uint64_t unit = p->options->alignment;
    if (strcmp(p->path, "-") == 0)
        return ox_fail(p->err, OX_USAGE, "%s: external data needs a target that is a file",
                       p->path);
    if (fault ||
        (location && (strchr(location, '/') || strcmp(location, ox_path_base(p->path)) == 0)))
        return ox_fail(p->err, OX_USAGE, "external data \"%s\": %s", location,
                       fault ? fault : "it must be a file of its own beside the model");
    if (unit & (unit - 1))
        return ox_fail(p->err, OX_USAGE, "an alignment of %llu is no power of two",
                       (unsigned long long)unit);
    if (ox_format_of_name(p->path) != OX_FORMAT_PROTOBUF)
        return ox_fail(p->err, OX_USAGE, "%s: external data goes with protobuf alone", p->path);
    return OX_OK;
}

static enum ox_status pack(struct packer *p)
{
    OX_TRY(check_options(p));
    p->dir = ox_path_dir(p->path);
    if (!p->dir)
        return no_room(p);
    OX_TRY(list_items(p));
    if (!p->options->no_dedup)
        OX_TRY(find_shared(p));
    OX_TRY(place_items(p));
    for (size_t i = 0; i < p->n_files; i++)
        OX_TRY(write_file(p, i));
    return write_model(p);
}

enum ox_status ox_external_pack(struct ox_model *model, const char *path,
                                const struct ox_external_pack_options *options,
                                struct ox_external_packed *packed, struct ox_error *err)
{
    static const struct ox_external_pack_options defaults = {0};
    struct packer p = {
        .model = model, .path = path, .options = options ? options : &defaults, .err = err};
    struct ox_external_packed result = {0};
    enum ox_status status = pack(&p);
    for (size_t i = 0; i < p.n_items; i++) {
        result.n_tensors++;
        result.n_shared += p.items[i].same != i;
        result.shared_bytes += p.items[i].same != i ? p.items[i].bytes : 0;
    }
    for (size_t i = 0; i < p.n_files; i++) {
        /* Files that no model names would be litter. */
        char *file = status == OX_OK || i >= p.n_placed ? NULL : path_of(&p, i);
        if (file)
            unlink(file);
        free(file);
        result.bytes += p.files[i].bytes;
        free(p.files[i].location);
    }
    result.n_files = p.n_files;
    if (status == OX_OK && packed)
        *packed = result;
    free(p.files);
    free(p.items);
    free(p.moves);
    free(p.dir);
    return status;
}
