/* Saved tensors as a list: what runs took and gave, checkpoints, test data. */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/file.h"
#include "common/json_reader.h"
#include "graph/weight_list.h"
#include "model/datum_kind.h"
#include "tensor/io/value_arrays.h"

static enum ox_status no_memory(const struct ox_weight_list *list, struct ox_error *err)
{
    return ox_fail(err, OX_NO_MEMORY, "%s: out of memory", list->path);
}

/* ---- Whether it is data -------------------------------------------------------------------------------------------- */

/* Protobuf's JSON of a model has one of these fields. */
static bool is_model_json(struct ox_env *env, const char *path, const struct ox_mapping *map)
{
    static const char *const keys[] = {"graph",       "irVersion",    "ir_version",
                                       "opsetImport", "opset_import", "producerName"};
    struct ox_json_reader json;
    enum ox_json_token token;
    size_t which = OX_COUNT(keys);
    ox_json_read_init(&json, path, map->data, map->bytes, env->limits.json_depth);
    bool good = ox_json_read_next(&json, &token, NULL) == OX_OK && token == OX_JSON_OBJECT;
    while (good && which == OX_COUNT(keys))
        good = ox_json_read_member(&json, OX_COUNT(keys), keys, &which, &token, NULL) == OX_OK &&
               token != OX_JSON_END_OBJECT &&
               (which < OX_COUNT(keys) || ox_json_read_skip(&json, token, NULL) == OX_OK);
    ox_json_read_release(&json);
    return which < OX_COUNT(keys);
}

static struct ox_span span_of(const struct ox_mapping *map)
{
    return (struct ox_span){map->data, map->bytes};
}

/* Raw bytes say nothing of their shape. What comes through a pipe can be read but once, so it is not looked at. */
static bool is_data(struct ox_env *env, const char *path)
{
    struct stat info;
    struct ox_mapping map;
    const enum ox_tensor_format format = ox_tensor_format_of(path);
    if (format == OX_TENSORS_AUTO || format == OX_TENSORS_RAW)
        return false;
    if (format != OX_TENSORS_PB && format != OX_TENSORS_JSON)
        return true;
    if (stat(path, &info) != 0 || !S_ISREG(info.st_mode) ||
        ox_mapping_open(&map, env, path, 0, NULL) != OX_OK)
        return false;
    const bool is = format == OX_TENSORS_PB ? ox_datum_kind(span_of(&map), NULL) != NULL
                                            : !is_model_json(env, path, &map);
    ox_mapping_release(&map);
    return is;
}

/* ---- Files --------------------------------------------------------------------------------------------------------- */

static bool grow(struct ox_weight_list *list)
{
    const size_t capacity = list->capacity ? 2 * list->capacity : 16;
    struct ox_weight *items = ox_arena_array(&list->arena, capacity, sizeof *items);
    struct ox_saved_tensor *saved = ox_arena_array(&list->arena, capacity, sizeof *saved);
    if (!items || !saved)
        return false;
    if (list->n) {
        memcpy(items, list->items, list->n * sizeof *items);
        memcpy(saved, list->saved, list->n * sizeof *saved);
    }
    list->items = items;
    list->saved = saved;
    list->capacity = capacity;
    return true;
}

/* Takes a reference of its own on the tensor. `weight` lacks what follows from type and shape. */
static enum ox_status put(struct ox_weight_list *list, struct ox_weight weight,
                          struct ox_saved_tensor saved, struct ox_error *err)
{
    size_t n = 0;
    if (list->n == list->capacity && !grow(list))
        return no_memory(list, err);
    if (ox_dims_count(weight.rank, weight.dims, &n))
        ox_dtype_packed_bytes(weight.dtype, n, &weight.bytes);
    weight.n = n;
    if (saved.tensor)
        ox_tensor_ref(saved.tensor);
    list->items[list->n] = weight;
    list->saved[list->n++] = saved;
    return OX_OK;
}

static enum ox_status add_tensor_file(struct ox_weight_list *list, const char *path,
                                      const char *graph, const char *base, struct ox_error *err)
{
    struct ox_tensor_file *file;
    struct ox_tensor_file **files = realloc(list->files, (list->n_files + 1) * sizeof(*files));
    if (!files)
        return no_memory(list, err);
    list->files = files;
    OX_TRY(ox_tensor_file_open(&file, list->env, path, NULL, err));
    list->files[list->n_files++] = file;
    for (size_t i = 0; i < ox_tensor_file_count(file); i++) {
        const char *name = ox_tensor_file_name(file, i);
        const struct ox_weight weight = {.graph = graph,
                                         .name = *name ? name : base,
                                         .dtype = ox_tensor_file_dtype(file, i),
                                         .rank = ox_tensor_file_rank(file, i),
                                         .dims = ox_tensor_file_dims(file, i)};
        OX_TRY(put(list, weight, (struct ox_saved_tensor){.file = file, .at = i}, err));
    }
    return OX_OK;
}

static enum ox_status add_arrays(struct ox_weight_list *list, const char *graph,
                                 const struct ox_value_arrays *arrays, struct ox_error *err)
{
    for (size_t i = 0; i < arrays->n; i++) {
        struct ox_tensor *tensor = arrays->tensors[i];
        const struct ox_weight weight = {.graph = graph,
                                         .name = ox_arena_strdup(&list->arena, arrays->names[i]),
                                         .dtype = tensor->dtype,
                                         .rank = tensor->rank,
                                         .dims = tensor->dims};
        if (!weight.name)
            return no_memory(list, err);
        OX_TRY(put(list, weight, (struct ox_saved_tensor){.tensor = tensor}, err));
    }
    return OX_OK;
}

/* The type and name of what a .pb file holds. */
static enum ox_status look_into(struct ox_weight_list *list, const char *path, const char *base,
                                const char **type, const char **name, struct ox_error *err)
{
    struct ox_mapping map;
    struct ox_span called = {0};
    OX_TRY(ox_mapping_open(&map, list->env, path, 0, err));
    *type = ox_datum_kind(span_of(&map), &called);
    *name = called.n ? ox_arena_strndup(&list->arena, (const char *)called.p, called.n) : base;
    ox_mapping_release(&map);
    if (!*type)
        return ox_fail(err, OX_INPUT, "%s: holds no tensor, sequence, optional or map", path);
    return *name ? OX_OK : no_memory(list, err);
}

static enum ox_status add_pb(struct ox_weight_list *list, const char *path, const char *graph,
                             const char *base, struct ox_error *err)
{
    const char *type, *name;
    struct ox_datum *datum;
    struct ox_value_arrays arrays = {.with_sparse = true};
    OX_TRY(look_into(list, path, base, &type, &name, err));
    OX_TRY(ox_datum_read_pb(&datum, list->env, path, type, err));
    enum ox_status status = ox_value_arrays_add(&arrays, name, datum, err);
    if (status == OX_OK)
        status = add_arrays(list, graph, &arrays, err);
    else
        ox_fail_context(err, status, "%s", path);
    ox_value_arrays_release(&arrays);
    ox_datum_release(datum);
    return status;
}

static enum ox_status add_file(struct ox_weight_list *list, const char *path, bool in_folder,
                               struct ox_error *err)
{
    const char *base = ox_arena_strdup(&list->arena, ox_path_base(path));
    if (!base)
        return no_memory(list, err);
    const char *graph = in_folder ? base : "";
    return ox_tensor_format_of(path) == OX_TENSORS_PB
               ? add_pb(list, path, graph, base, err)
               : add_tensor_file(list, path, graph, base, err);
}

/* ---- Folders ------------------------------------------------------------------------------------------------------- */

static int is_visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static enum ox_status add_entry(struct ox_weight_list *list, const char *folder, const char *entry,
                                struct ox_error *err)
{
    struct ox_strbuf path = {0};
    struct stat info;
    ox_strbuf_printf(&path, "%s/%s", folder, entry);
    enum ox_status status = path.failed ? no_memory(list, err) : OX_OK;
    if (status == OX_OK && stat(path.data, &info) == 0 && S_ISREG(info.st_mode) &&
        is_data(list->env, path.data))
        status = add_file(list, path.data, true, err);
    ox_strbuf_release(&path);
    return status;
}

static enum ox_status add_folder(struct ox_weight_list *list, const char *folder,
                                 struct ox_error *err)
{
    struct dirent **entries = NULL;
    const int n = scandir(folder, &entries, is_visible, versionsort);
    enum ox_status status = OX_OK;
    for (int i = 0; i < n; i++) {
        if (status == OX_OK)
            status = add_entry(list, folder, entries[i]->d_name, err);
        free(entries[i]);
    }
    free(entries);
    return status;
}

/* ---- The list ------------------------------------------------------------------------------------------------------ */

enum ox_status ox_weight_list_of_data(struct ox_weight_list **out, struct ox_env *env,
                                      const char *path, bool surely, struct ox_error *err)
{
    struct stat info;
    const bool folder = stat(path, &info) == 0 && S_ISDIR(info.st_mode);
    *out = NULL;
    if (!folder && !surely && !is_data(env, path))
        return OX_OK;
    struct ox_weight_list *list = calloc(1, sizeof *list);
    if (!list)
        return ox_fail(err, OX_NO_MEMORY, "%s: out of memory", path);
    list->env = env;
    ox_arena_init(&list->arena, ox_env_budget(env));
    list->path = ox_arena_strdup(&list->arena, path);
    enum ox_status status =
        list->path && grow(list) ? OX_OK : ox_fail(err, OX_NO_MEMORY, "%s: out of memory", path);
    if (status == OX_OK)
        status = folder ? add_folder(list, path, err) : add_file(list, path, false, err);
    if (status == OX_OK && folder && !list->n && surely)
        status = ox_fail(err, OX_INPUT, "%s: there are no files of tensors in this folder", path);
    if (status != OX_OK || (folder && !list->n))
        ox_weight_list_release(list);
    else
        *out = list;
    return status;
}
