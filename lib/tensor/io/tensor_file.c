#include "tensor/io/tensor_file.h"
#include "tensor/picture/picture.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/strmap.h"

static const struct {
    const char *extension;
    enum ox_tensor_format format;
} extensions[] = {
    {".bin", OX_TENSORS_RAW},
    {".bmp", OX_TENSORS_IMAGE},
    {".csv", OX_TENSORS_CSV},
    {".jpeg", OX_TENSORS_IMAGE},
    {".jp2", OX_TENSORS_IMAGE},
    {".jpg", OX_TENSORS_IMAGE},
    {".json", OX_TENSORS_JSON},
    {".npy", OX_TENSORS_NPY},
    {".npz", OX_TENSORS_NPZ},
    {".pb", OX_TENSORS_PB},
    {".pgm", OX_TENSORS_IMAGE},
    {".png", OX_TENSORS_IMAGE},
    {".ppm", OX_TENSORS_IMAGE},
    {".raw", OX_TENSORS_RAW},
    {".safetensors", OX_TENSORS_SAFETENSORS},
    {".tif", OX_TENSORS_IMAGE},
    {".tiff", OX_TENSORS_IMAGE},
    {".tsv", OX_TENSORS_CSV},
    {".webp", OX_TENSORS_IMAGE},
};

enum ox_tensor_format ox_tensor_format_of(const char *path)
{
    const char *dot = strrchr(ox_path_base(path), '.');
    for (size_t i = 0; dot && i < OX_COUNT(extensions); i++)
        if (strcasecmp(dot, extensions[i].extension) == 0)
            return extensions[i].format;
    return OX_TENSORS_AUTO;
}

static enum ox_tensor_format recognise(const struct ox_tensor_file *file,
                                       const struct ox_tensor_options *options)
{
    const uint8_t *data = file->data;
    if (options->dims)
        return OX_TENSORS_RAW;
    if (file->bytes >= 6 && memcmp(data, "\x93NUMPY", 6) == 0)
        return OX_TENSORS_NPY;
    if (file->bytes >= 4 && (memcmp(data, "PK\3\4", 4) == 0 || memcmp(data, "PK\5\6", 4) == 0))
        return OX_TENSORS_NPZ;
    if (ox_picture_format(data, file->bytes))
        return OX_TENSORS_IMAGE;
    enum ox_tensor_format format = ox_tensor_format_of(file->path);
    if (format != OX_TENSORS_AUTO)
        return format;
    if (file->bytes > 8 && data[8] == '{' && data[7] == 0 && data[6] == 0 && data[5] == 0)
        return OX_TENSORS_SAFETENSORS;
    size_t at = 0;
    while (at < file->bytes &&
           (data[at] == ' ' || data[at] == '\n' || data[at] == '\t' || data[at] == '\r'))
        at++;
    return at < file->bytes && (data[at] == '{' || data[at] == '[') ? OX_TENSORS_JSON
                                                                    : OX_TENSORS_AUTO;
}

static enum ox_status open_form(struct ox_tensor_file *file,
                                const struct ox_tensor_options *options, struct ox_error *err)
{
    file->format = options->format != OX_TENSORS_AUTO ? options->format : recognise(file, options);
    switch (file->format) {
    case OX_TENSORS_NPY:
        return ox_npy_open(file, options, err);
    case OX_TENSORS_NPZ:
        return ox_npz_open(file, options, err);
    case OX_TENSORS_JSON:
        return ox_json_tensors_open(file, options, err);
    case OX_TENSORS_CSV:
        return ox_csv_open(file, options, err);
    case OX_TENSORS_RAW:
        return ox_raw_open(file, options, err);
    case OX_TENSORS_SAFETENSORS:
        return ox_safetensors_open(file, options, err);
    case OX_TENSORS_IMAGE:
        return ox_image_open(file, options, err);
    case OX_TENSORS_PB:
        return ox_fail(err, OX_UNSUPPORTED, "%s: is protobuf, which is not read as a tensor file",
                       file->path);
    case OX_TENSORS_AUTO:
        break;
    }
    return ox_fail(err, OX_INPUT,
                   "%s: is no tensor file that is known (.npy, .npz, .safetensors, .json, .csv, a "
                   "picture; raw bytes need "
                   "FILE:DTYPE:DIMS)",
                   file->path);
}

static enum ox_status new_file(struct ox_tensor_file **out, struct ox_env *env, const char *path,
                               struct ox_error *err)
{
    struct ox_tensor_file *file = calloc(1, sizeof *file);
    struct ox_tensor_source *source = calloc(1, sizeof *source);
    struct ox_strmap *names = calloc(1, sizeof *names);
    if (!file || !source || !names) {
        free(names);
        free(source);
        free(file);
        return ox_fail(err, OX_NO_MEMORY, "%s: out of memory", path);
    }
    source->refs = 1;
    source->borrowed = true;
    ox_strmap_init(names);
    file->env = env;
    file->source = source;
    file->names = names;
    ox_arena_init(&file->arena, ox_env_budget(env));
    file->path = ox_arena_strdup(&file->arena, strcmp(path, "-") == 0 ? "standard input" : path);
    if (!file->path) {
        ox_tensor_file_release(file);
        return ox_fail(err, OX_NO_MEMORY, "%s: out of memory", path);
    }
    *out = file;
    return OX_OK;
}

void ox_tensor_file_release(struct ox_tensor_file *file)
{
    if (!file)
        return;
    for (size_t i = 0; i < file->n; i++)
        ox_tensor_release(file->members[i].tensor);
    ox_strmap_release(file->names);
    free(file->names);
    ox_arena_release(&file->arena);
    ox_tensor_source_unref(file->source);
    free(file);
}

/* What allocates knows no file. */
static void name_file(const struct ox_tensor_file *file, enum ox_status status,
                      struct ox_error *err)
{
    if (status != OX_OK && err && strncmp(err->message, file->path, strlen(file->path)) != 0)
        ox_fail_context(err, status, "%s", file->path);
}

static enum ox_status finish_open(struct ox_tensor_file **out, struct ox_tensor_file *file,
                                  const struct ox_tensor_options *options, struct ox_error *err)
{
    static const struct ox_tensor_options defaults;
    enum ox_status status = open_form(file, options ? options : &defaults, err);
    if (status != OX_OK) {
        name_file(file, status, err);
        ox_tensor_file_release(file);
        return status;
    }
    *out = file;
    return OX_OK;
}

enum ox_status ox_tensor_file_open(struct ox_tensor_file **out, struct ox_env *env,
                                   const char *path, const struct ox_tensor_options *options,
                                   struct ox_error *err)
{
    struct ox_tensor_file *file;
    OX_TRY(new_file(&file, env, path, err));
    enum ox_status status = ox_mapping_open(&file->source->mapping, env, path, 0, err);
    if (status != OX_OK) {
        ox_tensor_file_release(file);
        return status;
    }
    file->source->borrowed = false;
    file->data = file->source->mapping.data;
    file->bytes = file->source->mapping.bytes;
    return finish_open(out, file, options, err);
}

enum ox_status ox_tensor_file_open_memory(struct ox_tensor_file **out, struct ox_env *env,
                                          const char *name, const void *bytes, size_t n,
                                          const struct ox_tensor_options *options,
                                          struct ox_error *err)
{
    struct ox_tensor_file *file;
    OX_TRY(new_file(&file, env, name, err));
    file->data = bytes;
    file->bytes = n;
    return finish_open(out, file, options, err);
}

enum ox_tensor_format ox_tensor_file_format(const struct ox_tensor_file *file)
{
    return file->format;
}

size_t ox_tensor_file_count(const struct ox_tensor_file *file)
{
    return file->n;
}

const char *ox_tensor_file_name(const struct ox_tensor_file *file, size_t i)
{
    return file->members[i].name;
}

bool ox_tensor_file_find(const struct ox_tensor_file *file, const char *name, size_t *i)
{
    uint32_t found = ox_strmap_find(file->names, name, strlen(name));
    if (found == OX_STRMAP_NONE)
        return false;
    *i = found;
    return true;
}

enum ox_dtype ox_tensor_file_dtype(const struct ox_tensor_file *file, size_t i)
{
    return file->members[i].dtype;
}

unsigned ox_tensor_file_rank(const struct ox_tensor_file *file, size_t i)
{
    return file->members[i].rank;
}

const int64_t *ox_tensor_file_dims(const struct ox_tensor_file *file, size_t i)
{
    return file->members[i].dims;
}

enum ox_status ox_tensor_file_load(struct ox_tensor **out, struct ox_tensor_file *file, size_t i,
                                   struct ox_error *err)
{
    const struct ox_tensor_member *member = &file->members[i];
    OX_TRY(ox_env_poll(file->env, err));
    if (member->tensor) {
        *out = ox_tensor_ref(member->tensor);
        return OX_OK;
    }
    enum ox_status status = file->load(out, file, member, err);
    name_file(file, status, err);
    return status;
}
