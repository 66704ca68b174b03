#include "model/external.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/forget.h"
#include "common/number.h"
#include "model/name.h"
#include "model/unpack.h"

struct external_file {
    struct ox_mapping map;
    bool hashed;
    uint8_t digest[20];
};

struct ox_externals {
    struct ox_strmap names; /* location -> index */
    struct external_file **files;
    size_t n, capacity;
};

void ox_externals_release(struct ox_externals *externals)
{
    if (!externals)
        return;
    for (size_t i = 0; i < externals->n; i++) {
        ox_mapping_release(&externals->files[i]->map);
        free(externals->files[i]);
    }
    ox_strmap_release(&externals->names);
    free(externals->files);
    free(externals);
}

/* ---- Keys --------------------------------------------------------------------------------------------------------- */

/* Digits without sign, spaces or leading zeros. */
static bool read_decimal(const char *text, uint64_t *value)
{
    if (!*text || (text[0] == '0' && text[1]))
        return false;
    uint64_t result = 0;
    for (; *text; text++) {
        if (*text < '0' || *text > '9' || OX_MUL_OVERFLOWS(result, (uint64_t)10, &result) ||
            OX_ADD_OVERFLOWS(result, (uint64_t)(*text - '0'), &result))
            return false;
    }
    *value = result;
    return true;
}

static const char *const key_names[] = {"location", "offset", "length", "checksum", "basepath"};

enum ox_status ox_external_keys(struct ox_external_keys *keys, const Onnx__TensorProto *proto,
                                struct ox_error *err)
{
    *keys = (struct ox_external_keys){0};
    enum ox_status status = OX_OK;
    struct ox_name shown;
    bool seen[OX_COUNT(key_names)] = {false};
    for (size_t i = 0; i < proto->n_external_data; i++) {
        const Onnx__StringStringEntryProto *entry = proto->external_data[i];
        const char *key = entry->key ? entry->key : "", *value = entry->value ? entry->value : "";
        size_t k = 0;
        while (k < OX_COUNT(key_names) && strcmp(key, key_names[k]) != 0)
            k++;
        if (k == OX_COUNT(key_names)) {
            status = ox_fail(err, OX_INPUT, "external data has the unknown key \"%s\"",
                             ox_name(&shown, key));
            continue;
        }
        if (seen[k]) {
            status = ox_fail(err, OX_INPUT, "external data gives \"%s\" twice", key);
            continue;
        }
        seen[k] = true;
        if (k == 0) {
            keys->location = value;
        } else if (k == 3) {
            keys->checksum = value;
        } else if (k == 1 || k == 2) {
            bool good = read_decimal(value, k == 1 ? &keys->offset : &keys->length);
            *(k == 1 ? &keys->has_offset : &keys->has_length) = good;
            if (!good)
                status = ox_fail(err, OX_INPUT, "external data: %s \"%s\" is no plain number", key,
                                 ox_name(&shown, value));
        }
    }
    if (!keys->location)
        status = ox_fail(err, OX_INPUT, "external data gives no location");
    return status;
}

/* ---- Files -------------------------------------------------------------------------------------------------------- */

static enum ox_status map_file(struct ox_model *model, const char *location, struct ox_mapping *map,
                               struct ox_error *err)
{
    if (!model->dir)
        return ox_fail(err, OX_INPUT,
                       "external data cannot be reached: the model came from no file");
    if (model->env->external == OX_EXTERNAL_DENY)
        return ox_fail(err, OX_INPUT, "external data is denied (--external-data=deny)");
    int fd;
    OX_TRY(ox_open_beneath(model->dir, location, model->env->external, model->env->external_root,
                           &fd, err));
    struct ox_name shown;
    enum ox_status status =
        ox_mapping_open_fd(map, model->env, fd, ox_name(&shown, location), 0, err);
    close(fd);
    return status;
}

static enum ox_status find_file(struct ox_model *model, const char *location,
                                struct external_file **out, struct ox_error *err)
{
    if (!model->externals) {
        model->externals = calloc(1, sizeof *model->externals);
        if (!model->externals)
            return ox_no_memory(err);
        ox_strmap_init(&model->externals->names);
    }
    struct ox_externals *externals = model->externals;
    uint32_t index = ox_strmap_find(&externals->names, location, strlen(location));
    if (index != OX_STRMAP_NONE) {
        *out = externals->files[index];
        return OX_OK;
    }
    if (externals->n == externals->capacity) {
        size_t capacity = externals->capacity ? externals->capacity * 2 : 8;
        struct external_file **files = realloc(externals->files, capacity * sizeof(*files));
        if (!files)
            return ox_no_memory(err);
        externals->files = files;
        externals->capacity = capacity;
    }
    struct external_file *file = calloc(1, sizeof *file);
    char *key = ox_arena_strdup(&model->arena, location);
    if (!file || !key) {
        free(file);
        return ox_no_room(model->arena.budget, 1 << 20, model->path, err);
    }
    enum ox_status status = map_file(model, location, &file->map, err);
    if (status != OX_OK) {
        free(file);
        return status;
    }
    index = (uint32_t)externals->n;
    if (!ox_strmap_add(&externals->names, key, strlen(key), &index, NULL)) {
        ox_mapping_release(&file->map);
        free(file);
        return ox_no_memory(err);
    }
    externals->files[externals->n++] = file;
    *out = file;
    return OX_OK;
}

enum ox_status ox_external_open(struct ox_model *model, const char *location,
                                const struct ox_mapping **map, struct ox_error *err)
{
    struct external_file *file = NULL;
    OX_TRY(find_file(model, location, &file, err));
    *map = &file->map;
    return OX_OK;
}

static bool read_digest(const char *text, uint8_t digest[20])
{
    if (strlen(text) != 40)
        return false;
    for (unsigned i = 0; i < 20; i++) {
        uint32_t byte;
        if (!ox_number_parse_hex(text + 2 * i, 2, &byte))
            return false;
        digest[i] = (uint8_t)byte;
    }
    return true;
}

static void hash(struct external_file *file)
{
    enum { PIECE = 4 << 20 };
    struct ox_sha1 sum;
    ox_sha1_init(&sum);
    for (size_t at = 0; at < file->map.bytes; at += PIECE) {
        size_t n = file->map.bytes - at < PIECE ? file->map.bytes - at : PIECE;
        ox_sha1_add(&sum, file->map.data + at, n);
        ox_mapping_forget(file->map.data + at, n);
    }
    ox_sha1_end(&sum, file->digest);
    file->hashed = true;
}

static enum ox_status check_digest(struct external_file *file, const char *checksum,
                                   const char *location, struct ox_error *err)
{
    struct ox_name shown;
    uint8_t given[20];
    if (!read_digest(checksum, given))
        return ox_fail(err, OX_INPUT, "external data: checksum \"%s\" is no SHA-1 digest",
                       ox_name(&shown, checksum));
    if (!file->hashed)
        hash(file);
    if (memcmp(given, file->digest, sizeof given) != 0)
        return ox_fail(err, OX_INPUT, "external data \"%s\" does not have the checksum %s",
                       ox_name(&shown, location), checksum);
    return OX_OK;
}

enum ox_status ox_external_find(struct ox_model *model, const struct ox_stored *stored,
                                uint64_t need, const uint8_t **bytes, struct ox_error *err)
{
    struct ox_external_keys keys;
    struct ox_name shown;
    OX_TRY(ox_external_keys(&keys, stored->proto, err));
    if (keys.has_length && keys.length != need)
        return ox_fail(err, OX_INPUT,
                       "external data \"%s\": length is %" PRIu64
                       " where type and dims need %" PRIu64 " bytes",
                       ox_name(&shown, keys.location), keys.length, need);
    struct external_file *file = NULL;
    OX_TRY(find_file(model, keys.location, &file, err));
    if (keys.offset > file->map.bytes || need > file->map.bytes - keys.offset)
        return ox_fail(err, OX_INPUT,
                       "external data \"%s\" has %zu bytes, too few for %" PRIu64
                       " bytes at offset %" PRIu64,
                       ox_name(&shown, keys.location), file->map.bytes, need, keys.offset);
    if (keys.checksum)
        OX_TRY(check_digest(file, keys.checksum, keys.location, err));
    *bytes = file->map.data + keys.offset;
    return OX_OK;
}
