/* PKWARE's APPNOTE.TXT: local headers (4.3.7), central directory (4.3.12), its end (4.3.14 to 4.3.16), zip64 (4.5.3). */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "tensor/io/zip.h"

enum {
    END_BYTES = 22,
    END64_BYTES = 56,
    LOCATOR_BYTES = 20,
    CENTRAL_BYTES = 46,
    LOCAL_BYTES = 30,
    LONGEST_COMMENT = 65535
};

static uint32_t get2(const uint8_t *p)
{
    return (uint32_t)(p[0] | p[1] << 8);
}

static uint32_t get4(const uint8_t *p)
{
    return get2(p) | get2(p + 2) << 16;
}

static uint64_t get8(const uint8_t *p)
{
    return get4(p) | (uint64_t)get4(p + 4) << 32;
}

struct directory {
    uint64_t at;
    uint64_t bytes;
    uint64_t n;
    uint64_t end; /* where the records after it begin */
};

/* The zip64 records lie before the plain end, when one of its fields is too small for its number. */
static enum ox_status find_directory64(const struct ox_tensor_file *file, uint64_t end_at,
                                       struct directory *directory, struct ox_error *err)
{
    if (end_at < LOCATOR_BYTES || get4(file->data + end_at - LOCATOR_BYTES) != 0x07064B50)
        return OX_OK;
    uint64_t at = get8(file->data + end_at - LOCATOR_BYTES + 8);
    if (end_at < LOCATOR_BYTES + END64_BYTES || at > end_at - LOCATOR_BYTES - END64_BYTES ||
        get4(file->data + at) != 0x06064B50)
        return ox_tensor_file_fault(file, end_at - LOCATOR_BYTES, err,
                                    "the zip64 end of the archive is not where it should be");
    directory->n = get8(file->data + at + 32);
    directory->bytes = get8(file->data + at + 40);
    directory->at = get8(file->data + at + 48);
    directory->end = at;
    return OX_OK;
}

static enum ox_status find_directory(const struct ox_tensor_file *file, struct directory *directory,
                                     struct ox_error *err)
{
    if (file->bytes < END_BYTES)
        return ox_tensor_file_fault(file, file->bytes, err, "is cut off: no archive is that short");
    uint64_t at = file->bytes - END_BYTES;
    uint64_t least = at > LONGEST_COMMENT ? at - LONGEST_COMMENT : 0;
    while (get4(file->data + at) != 0x06054B50 ||
           get2(file->data + at + 20) != file->bytes - at - END_BYTES) {
        if (at == least)
            return ox_tensor_file_fault(
                file, file->bytes, err,
                "is cut off or no archive: the end of its directory is missing");
        at--;
    }
    const uint8_t *end = file->data + at;
    *directory = (struct directory){
        .n = get2(end + 10), .bytes = get4(end + 12), .at = get4(end + 16), .end = at};
    OX_TRY(find_directory64(file, at, directory, err));
    if (get2(end + 4) != get2(end + 6))
        return ox_fail(err, OX_UNSUPPORTED, "%s: is one part of an archive of several", file->path);
    if (directory->at > directory->end || directory->bytes > directory->end - directory->at)
        return ox_tensor_file_fault(file, at, err, "the directory lies outside the file");
    return OX_OK;
}

/* Fields of 32 ones are in the zip64 extra, in this order, and only they. */
static bool read_zip64(struct ox_zip_entry *entry, uint64_t *local_at, const uint8_t *extra,
                       size_t n)
{
    bool want[3] = {entry->bytes == UINT32_MAX, entry->packed_bytes == UINT32_MAX,
                    *local_at == UINT32_MAX};
    uint64_t *fields[3] = {&entry->bytes, &entry->packed_bytes, local_at};
    if (!want[0] && !want[1] && !want[2])
        return true;
    while (n >= 4) {
        size_t size = get2(extra + 2);
        if (size > n - 4)
            return false;
        if (get2(extra) == 1) {
            const uint8_t *p = extra + 4;
            for (int i = 0; i < 3; i++) {
                if (!want[i])
                    continue;
                if (size < 8)
                    return false;
                *fields[i] = get8(p);
                p += 8;
                size -= 8;
            }
            return true;
        }
        extra += 4 + size;
        n -= 4 + size;
    }
    return false;
}

static enum ox_status find_data(const struct ox_tensor_file *file, struct ox_zip_entry *entry,
                                uint64_t local_at, uint64_t limit, struct ox_error *err)
{
    const uint8_t *local = file->data + local_at;
    if (local_at > limit || limit - local_at < LOCAL_BYTES || get4(local) != 0x04034B50)
        return ox_tensor_file_fault(file, local_at, err,
                                    "no member begins here, though the directory says so");
    uint64_t header = LOCAL_BYTES + (uint64_t)get2(local + 26) + get2(local + 28);
    if (header > limit - local_at || entry->packed_bytes > limit - local_at - header)
        return ox_tensor_file_fault(file, local_at, err, "the member reaches past the directory");
    if (get2(local + 26) != entry->n_name ||
        memcmp(local + LOCAL_BYTES, entry->name, entry->n_name) != 0)
        return ox_tensor_file_fault(file, local_at, err,
                                    "the member has another name in the directory");
    entry->at = local_at + header;
    return OX_OK;
}

static enum ox_status check_size(const struct ox_tensor_file *file,
                                 const struct ox_zip_entry *entry, struct ox_error *err)
{
    char name[OX_SHOWN_BYTES];
    ox_shown(name, entry->name, entry->n_name);
    uint64_t ratio = file->env->limits.npz_ratio;
    if (entry->method == 0 && entry->bytes != entry->packed_bytes)
        return ox_tensor_file_fault(file, entry->at, err,
                                    "member \"%s\" is stored, but its two sizes differ", name);
    /* Deflate cannot do 1032 to 1; the constant is for members that are empty but for their header. */
    if (ratio && entry->bytes / ratio > entry->packed_bytes + 64)
        return ox_fail(err, OX_LIMIT,
                       "%s: member \"%s\" expands %llu bytes to %llu; the limit is %llu to 1",
                       file->path, name, (unsigned long long)entry->packed_bytes,
                       (unsigned long long)entry->bytes, (unsigned long long)ratio);
    return OX_OK;
}

static enum ox_status read_central(const struct ox_tensor_file *file, uint64_t *at,
                                   const struct directory *directory, struct ox_zip_entry *entry,
                                   struct ox_error *err)
{
    uint64_t left = directory->at + directory->bytes - *at;
    const uint8_t *central = file->data + *at;
    if (left < CENTRAL_BYTES || get4(central) != 0x02014B50)
        return ox_tensor_file_fault(file, *at, err, "the directory is damaged");
    uint64_t bytes =
        CENTRAL_BYTES + (uint64_t)get2(central + 28) + get2(central + 30) + get2(central + 32);
    if (bytes > left)
        return ox_tensor_file_fault(file, *at, err, "the directory is cut off");
    *entry = (struct ox_zip_entry){.name = (const char *)central + CENTRAL_BYTES,
                                   .n_name = get2(central + 28),
                                   .packed_bytes = get4(central + 20),
                                   .bytes = get4(central + 24),
                                   .crc = get4(central + 16),
                                   .method = (uint16_t)get2(central + 10)};
    uint64_t local_at = get4(central + 42);
    char name[OX_SHOWN_BYTES];
    ox_shown(name, entry->name, entry->n_name);
    if (!read_zip64(entry, &local_at, central + CENTRAL_BYTES + entry->n_name, get2(central + 30)))
        return ox_tensor_file_fault(file, *at, err, "member \"%s\" lacks its zip64 sizes", name);
    if (get2(central + 8) & 1)
        return ox_fail(err, OX_UNSUPPORTED, "%s: member \"%s\" is encrypted", file->path, name);
    if (entry->method != 0 && entry->method != 8)
        return ox_fail(err, OX_UNSUPPORTED,
                       "%s: member \"%s\" is compressed by method %u; stored and deflated are read",
                       file->path, name, entry->method);
    OX_TRY(find_data(file, entry, local_at, directory->at, err));
    *at += bytes;
    return check_size(file, entry, err);
}

enum ox_status ox_zip_list(struct ox_tensor_file *file, struct ox_zip_entry **entries, size_t *n,
                           struct ox_error *err)
{
    struct directory directory = {0};
    OX_TRY(find_directory(file, &directory, err));
    uint64_t limit = file->env->limits.npz_members;
    if (limit && directory.n > limit)
        return ox_fail(err, OX_LIMIT, "%s: has %llu members; the limit is %llu", file->path,
                       (unsigned long long)directory.n, (unsigned long long)limit);
    if (directory.n > directory.bytes / CENTRAL_BYTES)
        return ox_tensor_file_fault(file, directory.end, err,
                                    "the directory is too short for its %llu members",
                                    (unsigned long long)directory.n);
    struct ox_zip_entry *list = ox_arena_array(&file->arena, (size_t)directory.n, sizeof *list);
    /* A copy: names and sizes of a mapped file may change. */
    uint64_t at = directory.at;
    uint64_t packed = 0;
    if (!list)
        return ox_tensor_file_no_memory(file, err);
    for (size_t i = 0; i < directory.n; i++) {
        OX_TRY(ox_env_poll(file->env, err));
        OX_TRY(read_central(file, &at, &directory, &list[i], err));
        if (OX_ADD_OVERFLOWS(packed, list[i].packed_bytes, &packed) || packed > directory.at)
            return ox_tensor_file_fault(file, list[i].at, err, "members overlap");
        list[i].name = ox_arena_strndup(&file->arena, list[i].name, list[i].n_name);
        if (!list[i].name)
            return ox_tensor_file_no_memory(file, err);
    }
    if (at != directory.at + directory.bytes)
        return ox_tensor_file_fault(file, at, err, "the directory has more than its %llu members",
                                    (unsigned long long)directory.n);
    *entries = list;
    *n = (size_t)directory.n;
    return OX_OK;
}

static enum ox_status member_fault(const struct ox_zip_stream *stream, struct ox_error *err,
                                   const char *what)
{
    char name[OX_SHOWN_BYTES];
    ox_shown(name, stream->entry->name, stream->entry->n_name);
    return ox_tensor_file_fault(stream->file, stream->entry->at + stream->next, err,
                                "member \"%s\" %s", name, what);
}

enum ox_status ox_zip_start(struct ox_zip_stream *stream, const struct ox_tensor_file *file,
                            const struct ox_zip_entry *entry, struct ox_error *err)
{
    memset(stream, 0, offsetof(struct ox_zip_stream, window));
    stream->file = file;
    stream->entry = entry;
    stream->fd = -1;
    if (entry->method == 0)
        return OX_OK;
    if (inflateInit2(&stream->z, -MAX_WBITS) != Z_OK)
        return ox_fail(err, OX_NO_MEMORY, "%s: out of memory", file->path);
    stream->inflating = true;
    return OX_OK;
}

/* n packed bytes from the next one on, which the member has. */
static enum ox_status read_packed(struct ox_zip_stream *stream, uint8_t *to, size_t n,
                                  struct ox_error *err)
{
    uint64_t at = stream->entry->at + stream->next;
    if (stream->fd < 0) {
        memcpy(to, stream->file->data + at, n);
        return OX_OK;
    }
    while (n > 0) {
        ssize_t got = pread(stream->fd, to, n, (off_t)at);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return ox_tensor_file_fault(stream->file, at, err, "cannot be read: %s",
                                        got < 0 ? strerror(errno) : "the file was cut short");
        to += got;
        at += (uint64_t)got;
        n -= (size_t)got;
    }
    return OX_OK;
}

/* Packed bytes for zlib, as many as there are or fit. */
static enum ox_status offer_packed(struct ox_zip_stream *stream, uInt *n, struct ox_error *err)
{
    uint64_t left = stream->entry->packed_bytes - stream->next;
    uint64_t most = stream->fd < 0 ? 1u << 30 : sizeof stream->window;
    *n = (uInt)(left < most ? left : most);
    stream->z.next_in = stream->window;
    if (stream->fd < 0)
        stream->z.next_in = stream->file->data + stream->entry->at + stream->next;
    else
        OX_TRY(read_packed(stream, stream->window, *n, err));
    stream->z.avail_in = *n;
    return OX_OK;
}

static enum ox_status inflate_some(struct ox_zip_stream *stream, uint8_t *to, uInt n,
                                   struct ox_error *err)
{
    stream->z.next_out = to;
    stream->z.avail_out = n;
    while (stream->z.avail_out > 0) {
        uInt part;
        OX_TRY(offer_packed(stream, &part, err));
        int code = inflate(&stream->z, Z_NO_FLUSH);
        stream->next += part - stream->z.avail_in;
        if (code == Z_MEM_ERROR)
            return ox_fail(err, OX_NO_MEMORY, "%s: out of memory", stream->file->path);
        if (code == Z_STREAM_END && stream->z.avail_out > 0)
            return member_fault(stream, err, "inflates to less than its size");
        if (code == Z_STREAM_END)
            break;
        if (code != Z_OK)
            return member_fault(stream, err, "does not inflate");
    }
    return OX_OK;
}

enum ox_status ox_zip_read(struct ox_zip_stream *stream, void *to, uint64_t n, struct ox_error *err)
{
    if (n > stream->entry->bytes - stream->passed)
        return member_fault(stream, err, "is too short for its .npy header and elements");
    uint8_t *at = to;
    while (n > 0) {
        OX_TRY(ox_env_poll(stream->file->env, err));
        uInt part = n < (1u << 24) ? (uInt)n : 1u << 24;
        if (stream->inflating) {
            OX_TRY(inflate_some(stream, at, part, err));
        } else {
            OX_TRY(read_packed(stream, at, part, err));
            stream->next += part;
        }
        stream->crc = (uint32_t)crc32(stream->crc, at, part);
        stream->passed += part;
        at += part;
        n -= part;
    }
    return OX_OK;
}

enum ox_status ox_zip_finish(struct ox_zip_stream *stream, struct ox_error *err)
{
    if (stream->passed != stream->entry->bytes)
        return member_fault(stream, err, "is longer than its .npy header and elements");
    if (stream->inflating) {
        uint8_t byte;
        uInt part;
        OX_TRY(offer_packed(stream, &part, err));
        stream->z.next_out = &byte;
        stream->z.avail_out = 1;
        if (inflate(&stream->z, Z_NO_FLUSH) != Z_STREAM_END || stream->z.avail_out != 1)
            return member_fault(stream, err, "inflates to more than its size");
    }
    if (stream->crc != stream->entry->crc)
        return member_fault(stream, err, "is damaged: its checksum differs");
    return OX_OK;
}

void ox_zip_stop(struct ox_zip_stream *stream)
{
    if (stream->inflating)
        inflateEnd(&stream->z);
    stream->inflating = false;
}
