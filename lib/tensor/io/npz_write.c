/* An archive that is written in one pass: sizes and checksum of a member are patched into its local header once they are
 * known. Stored elements begin at a multiple of 64 bytes, so that they can be used where they lie when the file is mapped. */
#include <stdlib.h>
#include <string.h>

#include "common/file.h"
#include "common/strmap.h"
#include "tensor/io/npy.h"
#include "tensor/io/zip.h"

enum {
    ALIGN = 64,
    LOCAL_BYTES = 30,
    PAD_ID = 0xD935, /* of the extra field that Android's zipalign fills with zeros */
    DEFLATE_LEVEL = 6,
    CHUNK = 64 << 10,
    DATE = 33 /* 1980-01-01: the same tensors are the same bytes at any time */
};

struct ox_npz_writer {
    struct ox_outfile *file;
    char *path;
    bool deflate;
    struct ox_strbuf directory;
    uint64_t n;
    struct ox_arena arena; /* names */
    struct ox_strmap names;
};

/* One member while it is written. */
struct member {
    struct ox_npz_writer *writer;
    z_stream z;
    uint32_t crc;
    uint64_t bytes;
    uint64_t packed_bytes;
    uint8_t out[CHUNK];
};

static void add2(struct ox_strbuf *buf, uint32_t value)
{
    char bytes[2] = {(char)(value & 0xFF), (char)(value >> 8 & 0xFF)};
    ox_strbuf_add(buf, bytes, 2);
}

static void add4(struct ox_strbuf *buf, uint32_t value)
{
    add2(buf, value & 0xFFFF);
    add2(buf, value >> 16);
}

static void add8(struct ox_strbuf *buf, uint64_t value)
{
    add4(buf, (uint32_t)value);
    add4(buf, (uint32_t)(value >> 32));
}

static void add_capped4(struct ox_strbuf *buf, uint64_t value)
{
    add4(buf, value < UINT32_MAX ? (uint32_t)value : UINT32_MAX);
}

enum ox_status ox_npz_writer_open(struct ox_npz_writer **out, const char *path, bool deflate,
                                  struct ox_error *err)
{
    struct ox_npz_writer *writer = calloc(1, sizeof *writer);
    char *copy = strdup(path);
    if (!writer || !copy) {
        free(copy);
        free(writer);
        return ox_fail(err, OX_NO_MEMORY, "%s: out of memory", path);
    }
    writer->path = copy;
    writer->deflate = deflate;
    ox_strbuf_init(&writer->directory);
    ox_arena_init(&writer->arena, NULL);
    ox_strmap_init(&writer->names);
    enum ox_status status = ox_outfile_open(&writer->file, path, err);
    if (status != OX_OK) {
        ox_npz_writer_release(writer);
        return status;
    }
    *out = writer;
    return OX_OK;
}

void ox_npz_writer_release(struct ox_npz_writer *writer)
{
    if (!writer)
        return;
    ox_outfile_release(writer->file);
    ox_strbuf_release(&writer->directory);
    ox_strmap_release(&writer->names);
    ox_arena_release(&writer->arena);
    free(writer->path);
    free(writer);
}

static enum ox_status put_stored(void *to, const void *bytes, size_t n, struct ox_error *err)
{
    struct member *member = to;
    for (size_t at = 0; at < n; at += (size_t)1 << 30) {
        size_t part = n - at < (size_t)1 << 30 ? n - at : (size_t)1 << 30;
        member->crc = (uint32_t)crc32(member->crc, (const uint8_t *)bytes + at, (uInt)part);
    }
    member->bytes += n;
    member->packed_bytes += n;
    return ox_outfile_write(member->writer->file, bytes, n, err);
}

static enum ox_status deflate_some(struct member *member, int flush, struct ox_error *err)
{
    do {
        member->z.next_out = member->out;
        member->z.avail_out = CHUNK;
        int code = deflate(&member->z, flush);
        size_t n = CHUNK - member->z.avail_out;
        member->packed_bytes += n;
        OX_TRY(ox_outfile_write(member->writer->file, member->out, n, err));
        if (code == Z_STREAM_END)
            break;
    } while (member->z.avail_out == 0 || member->z.avail_in > 0);
    return OX_OK;
}

static enum ox_status put_deflated(void *to, const void *bytes, size_t n, struct ox_error *err)
{
    struct member *member = to;
    for (size_t at = 0; at < n;) {
        size_t part = n - at < (size_t)1 << 30 ? n - at : (size_t)1 << 30;
        member->crc = (uint32_t)crc32(member->crc, (const uint8_t *)bytes + at, (uInt)part);
        member->z.next_in = (const uint8_t *)bytes + at;
        member->z.avail_in = (uInt)part;
        OX_TRY(deflate_some(member, Z_NO_FLUSH, err));
        at += part;
    }
    member->bytes += n;
    return OX_OK;
}

/* Local header with the sizes still 0. A member that may need them has room for 64-bit sizes in front of the padding. */
static enum ox_status write_local(struct ox_npz_writer *writer, const char *name, bool big,
                                  size_t header_bytes, struct ox_error *err)
{
    struct ox_strbuf local;
    ox_strbuf_init(&local);
    size_t n_name = strlen(name) + 4;
    size_t extra = big ? 20 : 0;
    size_t pad = 0;
    if (!writer->deflate) {
        uint64_t at =
            ox_outfile_position(writer->file) + LOCAL_BYTES + n_name + extra + header_bytes;
        pad = (size_t)(ALIGN - at % ALIGN) % ALIGN;
        if (pad > 0 && pad < 4)
            pad += ALIGN;
    }
    add4(&local, 0x04034B50);
    add2(&local, big ? 45 : 20);
    add2(&local, 0x0800); /* the name is UTF-8 */
    add2(&local, writer->deflate ? 8 : 0);
    add2(&local, 0);
    add2(&local, DATE);
    add4(&local, 0);
    add4(&local, big ? UINT32_MAX : 0);
    add4(&local, big ? UINT32_MAX : 0);
    add2(&local, (uint32_t)n_name);
    add2(&local, (uint32_t)(extra + pad));
    ox_strbuf_puts(&local, name);
    ox_strbuf_puts(&local, ".npy");
    if (big) {
        add2(&local, 1);
        add2(&local, 16);
        add8(&local, 0);
        add8(&local, 0);
    }
    if (pad) {
        add2(&local, PAD_ID);
        add2(&local, (uint32_t)(pad - 4));
        for (size_t i = 4; i < pad; i++)
            ox_strbuf_putc(&local, '\0');
    }
    enum ox_status status = local.failed
                                ? ox_fail(err, OX_NO_MEMORY, "%s: out of memory", writer->path)
                                : ox_outfile_write(writer->file, local.data, local.len, err);
    ox_strbuf_release(&local);
    return status;
}

static enum ox_status patch_local(const struct member *member, uint64_t at, size_t n_name, bool big,
                                  struct ox_error *err)
{
    struct ox_outfile *file = member->writer->file;
    struct ox_strbuf sizes;
    ox_strbuf_init(&sizes);
    add4(&sizes, member->crc);
    if (!big) {
        add4(&sizes, (uint32_t)member->packed_bytes);
        add4(&sizes, (uint32_t)member->bytes);
    }
    size_t n = sizes.len;
    add8(&sizes, member->bytes);
    add8(&sizes, member->packed_bytes);
    enum ox_status status =
        sizes.failed ? ox_fail(err, OX_NO_MEMORY, "%s: out of memory", member->writer->path)
                     : ox_outfile_patch(file, at + 14, sizes.data, n, err);
    if (status == OX_OK && big)
        status = ox_outfile_patch(file, at + LOCAL_BYTES + n_name + 4, sizes.data + n, 16, err);
    ox_strbuf_release(&sizes);
    return status;
}

static void add_central(struct ox_npz_writer *writer, const char *name, const struct member *member,
                        uint64_t at, bool big)
{
    struct ox_strbuf *out = &writer->directory;
    bool far = at >= UINT32_MAX;
    add4(out, 0x02014B50);
    add2(out, big || far ? 45 : 20);
    add2(out, big || far ? 45 : 20);
    add2(out, 0x0800);
    add2(out, writer->deflate ? 8 : 0);
    add2(out, 0);
    add2(out, DATE);
    add4(out, member->crc);
    add4(out, big ? UINT32_MAX : (uint32_t)member->packed_bytes);
    add4(out, big ? UINT32_MAX : (uint32_t)member->bytes);
    add2(out, (uint32_t)strlen(name) + 4);
    add2(out, big || far ? 4 + (big ? 16 : 0) + (far ? 8 : 0) : 0);
    add2(out, 0);
    add2(out, 0);
    add2(out, 0);
    add4(out, 0);
    add_capped4(out, at);
    ox_strbuf_puts(out, name);
    ox_strbuf_puts(out, ".npy");
    if (big || far) {
        add2(out, 1);
        add2(out, (uint32_t)((big ? 16 : 0) + (far ? 8 : 0)));
    }
    if (big) {
        add8(out, member->bytes);
        add8(out, member->packed_bytes);
    }
    if (far)
        add8(out, at);
    writer->n++;
}

static enum ox_status write_member(struct member *member, const struct ox_tensor *tensor,
                                   size_t item_bytes, const struct ox_strbuf *header,
                                   struct ox_error *err)
{
    bool packed = member->writer->deflate;
    struct ox_sink sink = {packed ? put_deflated : put_stored, member};
    if (packed && deflateInit2(&member->z, DEFLATE_LEVEL, Z_DEFLATED, -MAX_WBITS, 8,
                               Z_DEFAULT_STRATEGY) != Z_OK)
        return ox_fail(err, OX_NO_MEMORY, "%s: out of memory", member->writer->path);
    enum ox_status status = sink.put(sink.to, header->data, header->len, err);
    if (status == OX_OK)
        status = ox_npy_write_elements(tensor, item_bytes, &sink, err);
    if (status == OX_OK && packed)
        status = deflate_some(member, Z_FINISH, err);
    if (packed)
        deflateEnd(&member->z);
    return status;
}

static enum ox_status check_name(struct ox_npz_writer *writer, const char *name,
                                 struct ox_error *err)
{
    size_t n = strlen(name);
    if (n > 65000)
        return ox_fail(err, OX_INPUT, "%s: a name of %zu bytes is too long for an archive",
                       writer->path, n);
    char *copy = ox_arena_strdup(&writer->arena, name);
    uint32_t index = 0;
    bool is_new;
    if (!copy || !ox_strmap_add(&writer->names, copy, n, &index, &is_new))
        return ox_fail(err, OX_NO_MEMORY, "%s: out of memory", writer->path);
    if (is_new)
        return OX_OK;
    char shown[OX_SHOWN_BYTES];
    return ox_fail(err, OX_INPUT, "%s: two tensors are named \"%s\"", writer->path,
                   ox_shown(shown, name, n));
}

enum ox_status ox_npz_writer_add(struct ox_npz_writer *writer, const char *name,
                                 const struct ox_tensor *tensor, struct ox_error *err)
{
    OX_TRY(check_name(writer, name, err));
    struct member *member = calloc(1, sizeof *member);
    struct ox_strbuf header;
    ox_strbuf_init(&header);
    size_t item_bytes;
    enum ox_status status;
    if (!member) {
        status = ox_no_memory(err);
        goto cleanup;
    }
    member->writer = writer;
    OX_TRY_CLEANUP(ox_npy_write_header(&header, tensor, &item_bytes, err));
    /* Deflate makes what it cannot compress a little larger. */
    uint64_t bytes = header.len + (uint64_t)tensor->n * item_bytes;
    bool big = bytes > UINT32_MAX - bytes / 1000 - 1024;
    uint64_t at = ox_outfile_position(writer->file);
    OX_TRY_CLEANUP(write_local(writer, name, big, header.len, err));
    OX_TRY_CLEANUP(write_member(member, tensor, item_bytes, &header, err));
    OX_TRY_CLEANUP(patch_local(member, at, strlen(name) + 4, big, err));
    add_central(writer, name, member, at, big);
cleanup:
    ox_strbuf_release(&header);
    free(member);
    char shown[OX_SHOWN_BYTES];
    if (status != OX_OK && err && strncmp(err->message, writer->path, strlen(writer->path)) != 0)
        ox_fail_context(err, status, "%s: \"%s\"", writer->path,
                        ox_shown(shown, name, strlen(name)));
    return status;
}

enum ox_status ox_npz_writer_commit(struct ox_npz_writer *writer, struct ox_error *err)
{
    struct ox_strbuf *out = &writer->directory;
    uint64_t at = ox_outfile_position(writer->file);
    uint64_t bytes = out->len;
    if (writer->n >= UINT16_MAX || at >= UINT32_MAX || bytes >= UINT32_MAX) {
        add4(out, 0x06064B50);
        add8(out, 44);
        add2(out, 45);
        add2(out, 45);
        add4(out, 0);
        add4(out, 0);
        add8(out, writer->n);
        add8(out, writer->n);
        add8(out, bytes);
        add8(out, at);
        add4(out, 0x07064B50);
        add4(out, 0);
        add8(out, at + bytes);
        add4(out, 1);
    }
    add4(out, 0x06054B50);
    add4(out, 0);
    uint32_t n = writer->n < UINT16_MAX ? (uint32_t)writer->n : UINT16_MAX;
    add2(out, n);
    add2(out, n);
    add_capped4(out, bytes);
    add_capped4(out, at);
    add2(out, 0);
    if (out->failed)
        return ox_fail(err, OX_NO_MEMORY, "%s: out of memory", writer->path);
    OX_TRY(ox_outfile_write(writer->file, out->data, out->len, err));
    return ox_outfile_commit(writer->file, err);
}
