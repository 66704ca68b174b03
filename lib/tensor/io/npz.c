#include <string.h>

#include "tensor/io/npy.h"
#include "tensor/io/zip.h"

static enum ox_status read_header(struct ox_tensor_file *file, const struct ox_zip_entry *entry,
                                  enum ox_dtype assume, struct ox_npy_header *header,
                                  struct ox_arena *scratch, struct ox_error *err)
{
    struct ox_zip_stream stream;
    char shown[OX_SHOWN_BYTES];
    char name[OX_SHOWN_BYTES + 16];
    snprintf(name, sizeof name, "member \"%s\"", ox_shown(shown, entry->name, entry->n_name));
    OX_TRY(ox_zip_start(&stream, file, entry, err));
    uint8_t prefix[12];
    size_t n_prefix = entry->bytes < sizeof prefix ? (size_t)entry->bytes : sizeof prefix;
    size_t n_header = 0;
    enum ox_status status;
    OX_TRY_CLEANUP(ox_zip_read(&stream, prefix, n_prefix, err));
    OX_TRY_CLEANUP(ox_npy_header_bytes(name, prefix, n_prefix, &file->env->limits, &n_header, err));
    if (n_header < n_prefix || n_header > entry->bytes) {
        status = ox_fail(err, OX_INPUT, "%s: its .npy header is cut off", name);
        goto cleanup;
    }
    uint8_t *bytes = ox_arena_alloc(scratch, n_header);
    if (!bytes) {
        status = ox_fail(err, OX_NO_MEMORY, "%s: out of memory", name);
        goto cleanup;
    }
    memcpy(bytes, prefix, n_prefix);
    OX_TRY_CLEANUP(ox_zip_read(&stream, bytes + n_prefix, n_header - n_prefix, err));
    OX_TRY_CLEANUP(ox_npy_parse(header, name, bytes, n_header, assume, err));
    if (header->payload_bytes != entry->bytes - n_header)
        status = ox_fail(err, OX_INPUT, "%s: %llu bytes of elements where type and shape need %llu",
                         name, (unsigned long long)(entry->bytes - n_header),
                         (unsigned long long)header->payload_bytes);
cleanup:
    ox_zip_stop(&stream);
    return status;
}

static enum ox_status fill(struct ox_tensor *tensor, struct ox_tensor_file *file,
                           const struct ox_tensor_member *member, struct ox_zip_stream *stream,
                           struct ox_arena *scratch, struct ox_error *err)
{
    const struct ox_npy_layout *layout = &member->npy;
    bool plain = ox_npy_is_plain(layout, member->rank);
    uint8_t *header = ox_arena_alloc(scratch, layout->header_bytes);
    uint8_t *elements = plain ? tensor->data : ox_arena_alloc(scratch, layout->payload_bytes);
    if (!header || !elements)
        return ox_fail(err, OX_LIMIT, "%s: a copy of \"%s\" goes over the memory limit", file->path,
                       member->name);
    OX_TRY(ox_zip_read(stream, header, layout->header_bytes, err));
    OX_TRY(ox_zip_read(stream, elements, layout->payload_bytes, err));
    OX_TRY(ox_zip_finish(stream, err));
    if (!plain)
        return ox_npy_decode(tensor, layout, elements, file->path, err);
    ox_tensor_normalize(tensor->dtype, tensor->data, tensor->n);
    return OX_OK;
}

/* A stored member is used where it lies in the file, if its elements are aligned there (as our own writer has them). */
static bool usable_in_place(const struct ox_tensor_file *file,
                            const struct ox_tensor_member *member)
{
    const uint8_t *payload = file->data + member->zip.at + member->npy.header_bytes;
    return member->zip.method == 0 && ox_npy_is_plain(&member->npy, member->rank) &&
           member->dtype != OX_BOOL && member->npy.kind != 'V' && (uintptr_t)payload % 16 == 0;
}

static enum ox_status check_crc(struct ox_tensor_file *file, const struct ox_zip_entry *entry,
                                struct ox_error *err)
{
    uint64_t at = 0;
    uint32_t crc = 0;
    while (at < entry->bytes) {
        OX_TRY(ox_env_poll(file->env, err));
        uint64_t part = entry->bytes - at < (1u << 24) ? entry->bytes - at : 1u << 24;
        crc = (uint32_t)crc32(crc, file->data + entry->at + at, (uInt)part);
        at += part;
    }
    if (crc == entry->crc)
        return OX_OK;
    char name[OX_SHOWN_BYTES];
    return ox_tensor_file_fault(file, entry->at, err,
                                "member \"%s\" is damaged: its checksum differs",
                                ox_shown(name, entry->name, entry->n_name));
}

static enum ox_status load_npz(struct ox_tensor **out, struct ox_tensor_file *file,
                               const struct ox_tensor_member *member, struct ox_error *err)
{
    if (usable_in_place(file, member)) {
        OX_TRY(check_crc(file, &member->zip, err));
        return ox_tensor_file_borrow(out, file, member, member->zip.at + member->npy.header_bytes,
                                     err);
    }
    struct ox_tensor *tensor;
    struct ox_zip_stream stream;
    OX_TRY(ox_tensor_new(&tensor, ox_env_budget(file->env), member->dtype, member->rank,
                         member->dims, err));
    struct ox_arena scratch;
    ox_arena_init(&scratch, ox_env_budget(file->env));
    enum ox_status status = ox_zip_start(&stream, file, &member->zip, err);
    if (status == OX_OK)
        status = fill(tensor, file, member, &stream, &scratch, err);
    ox_zip_stop(&stream);
    ox_arena_release(&scratch);
    if (status != OX_OK) {
        ox_tensor_release(tensor);
        return status;
    }
    *out = tensor;
    return OX_OK;
}

static bool ends_in_npy(const struct ox_zip_entry *entry)
{
    return entry->n_name >= 4 && memcmp(entry->name + entry->n_name - 4, ".npy", 4) == 0;
}

static enum ox_status add_member(struct ox_tensor_file *file, const struct ox_zip_entry *entry,
                                 enum ox_dtype assume, struct ox_error *err)
{
    struct ox_arena scratch;
    struct ox_npy_header header;
    struct ox_tensor_member *member;
    if (memchr(entry->name, '\0', entry->n_name))
        return ox_tensor_file_fault(file, entry->at, err, "the member's name has a NUL");
    ox_arena_init(&scratch, ox_env_budget(file->env));
    enum ox_status status = read_header(file, entry, assume, &header, &scratch, err);
    ox_arena_release(&scratch);
    if (status != OX_OK) {
        if (err && strncmp(err->message, file->path, strlen(file->path)) != 0)
            ox_fail_context(err, status, "%s", file->path);
        return status;
    }
    OX_TRY(ox_tensor_file_add(file, entry->name, entry->n_name - 4, &member, err));
    OX_TRY(ox_tensor_file_set_shape(file, member, header.dtype, header.rank, header.dims, err));
    member->npy = ox_npy_layout(&header);
    member->zip = *entry;
    return OX_OK;
}

enum ox_status ox_npz_open(struct ox_tensor_file *file, const struct ox_tensor_options *options,
                           struct ox_error *err)
{
    struct ox_zip_entry *entries;
    size_t n;
    OX_TRY(ox_zip_list(file, &entries, &n, err));
    for (size_t i = 0; i < n; i++)
        if (ends_in_npy(&entries[i])) /* what else an archive may hold is no tensor */
            OX_TRY(add_member(file, &entries[i], options->dtype, err));
    file->load = load_npz;
    return OX_OK;
}
