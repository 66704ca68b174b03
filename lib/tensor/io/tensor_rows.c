#include "tensor/io/tensor_rows.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/forget.h"
#include "tensor/io/npy.h"
#include "tensor/io/zip.h"

struct ox_tensor_rows {
    struct ox_tensor_file *file;
    const struct ox_tensor_member *member;
    int64_t n, next;         /* rows */
    struct ox_tensor *whole; /* NULL: streamed */
    size_t row_bytes;        /* in the file */
    uint64_t forgotten;      /* bytes of the whole that were read and given back */
    struct ox_zip_entry entry;
    struct ox_zip_stream stream;
};

/* Elements of a row lie together, a row behind the other. An .npy is read as if it were a stored member. */
static bool can_stream(const struct ox_tensor_file *file, const struct ox_tensor_member *member)
{
    return (file->format == OX_TENSORS_NPZ || file->format == OX_TENSORS_NPY) &&
           member->dims[0] > 0 && !(member->npy.fortran_order && member->rank > 1);
}

/* The mapped file once more: how much of a map is in memory is the system's choice, which may be megabytes a look. -1: not
 * that file any more, or none. */
static int open_again(const struct ox_tensor_file *file)
{
    struct stat info;
    int fd = file->source->mapping.mapped ? open(file->path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0 ||
        (fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && (uint64_t)info.st_size == file->bytes))
        return fd;
    close(fd);
    return -1;
}

/* The whole's first n bytes are done with. */
static void forget(struct ox_tensor_rows *rows, uint64_t n)
{
    enum { OFTEN = 1 << 16, PAGE = 4096 };
    if (n < rows->forgotten + OFTEN)
        return;
    ox_mapping_forget((const uint8_t *)rows->whole->data + rows->forgotten, n - rows->forgotten);
    rows->forgotten = n - PAGE; /* the last page may have been kept */
}

static enum ox_status skip(struct ox_tensor_rows *rows, uint64_t n, struct ox_error *err)
{
    uint8_t piece[4096];
    while (n > 0) {
        size_t part = n < sizeof piece ? (size_t)n : sizeof piece;
        OX_TRY(ox_zip_read(&rows->stream, piece, part, err));
        n -= part;
    }
    return OX_OK;
}

enum ox_status ox_tensor_rows_open(struct ox_tensor_rows **out, struct ox_tensor_file *file,
                                   size_t i, struct ox_error *err)
{
    struct ox_tensor_rows *rows = calloc(1, sizeof *rows);
    if (!rows)
        return ox_tensor_file_no_memory(file, err);
    const struct ox_tensor_member *member = &file->members[i];
    rows->file = file;
    rows->member = member;
    rows->n = member->dims[0];
    rows->stream.fd = -1;
    enum ox_status status;
    if (can_stream(file, member)) {
        rows->row_bytes = (size_t)(member->npy.payload_bytes / (uint64_t)rows->n);
        rows->entry = member->zip;
        if (file->format == OX_TENSORS_NPY)
            rows->entry = (struct ox_zip_entry){
                .name = "", .bytes = file->bytes, .packed_bytes = file->bytes};
        status = ox_zip_start(&rows->stream, file, &rows->entry, err);
        rows->stream.fd = open_again(file);
        if (status == OX_OK)
            status = skip(rows, member->npy.header_bytes, err);
    } else {
        status = ox_tensor_file_load(&rows->whole, file, i, err);
    }
    if (status != OX_OK) {
        ox_tensor_rows_release(rows);
        return status;
    }
    *out = rows;
    return OX_OK;
}

void ox_tensor_rows_release(struct ox_tensor_rows *rows)
{
    if (!rows)
        return;
    ox_zip_stop(&rows->stream);
    if (rows->stream.fd >= 0)
        close(rows->stream.fd);
    ox_tensor_release(rows->whole);
    free(rows);
}

static enum ox_status read_rows(struct ox_tensor_rows *rows, struct ox_tensor *tensor,
                                size_t n_bytes, struct ox_error *err)
{
    struct ox_npy_layout layout = rows->member->npy;
    struct ox_budget *budget = ox_env_budget(rows->file->env);
    layout.payload_bytes = n_bytes;
    if (ox_npy_is_plain(&layout, tensor->rank)) {
        OX_TRY(ox_zip_read(&rows->stream, tensor->data, n_bytes, err));
        ox_tensor_normalize(tensor->dtype, tensor->data, tensor->n);
        return OX_OK;
    }
    struct ox_arena scratch;
    ox_arena_init(&scratch, budget);
    uint8_t *raw = ox_arena_alloc(&scratch, n_bytes);
    enum ox_status status = raw ? ox_zip_read(&rows->stream, raw, n_bytes, err)
                                : ox_tensor_file_no_memory(rows->file, err);
    if (status == OX_OK)
        status = ox_npy_decode(tensor, &layout, raw, rows->file->path, err);
    ox_arena_release(&scratch);
    return status;
}

static enum ox_status check_end(struct ox_tensor_rows *rows, struct ox_error *err)
{
    return rows->file->format == OX_TENSORS_NPZ ? ox_zip_finish(&rows->stream, err) : OX_OK;
}

static enum ox_status stream_rows(struct ox_tensor_rows *rows, const int64_t *dims,
                                  struct ox_tensor **out, struct ox_error *err)
{
    const struct ox_tensor_member *member = rows->member;
    struct ox_tensor *tensor;
    OX_TRY(ox_tensor_new(&tensor, ox_env_budget(rows->file->env), member->dtype, member->rank, dims,
                         err));
    enum ox_status status = read_rows(rows, tensor, (size_t)dims[0] * rows->row_bytes, err);
    if (status == OX_OK && rows->next + dims[0] == rows->n)
        status = check_end(rows, err);
    if (status != OX_OK) {
        ox_tensor_release(tensor);
        return status;
    }
    *out = tensor;
    return OX_OK;
}

static enum ox_status borrow_rows(struct ox_tensor_rows *rows, const int64_t *dims,
                                  struct ox_tensor **out, struct ox_error *err)
{
    const struct ox_tensor *whole = rows->whole;
    size_t row = rows->n ? whole->n / (size_t)rows->n * ox_dtype_size(whole->dtype) : 0;
    const char *from = (const char *)whole->data + (size_t)rows->next * row;
    OX_TRY(ox_tensor_borrow(out, whole->dtype, whole->rank, dims, from, NULL, NULL, err));
    forget(rows, (size_t)rows->next * row);
    return OX_OK;
}

enum ox_status ox_tensor_rows_next(struct ox_tensor_rows *rows, int64_t n, struct ox_tensor **out,
                                   struct ox_error *err)
{
    int64_t dims[OX_NPY_MAX_RANK];
    unsigned rank = rows->member->rank;
    if (rank > OX_NPY_MAX_RANK || n > rows->n - rows->next)
        return ox_fail(err, OX_LIMIT, "%s: array \"%s\": rank %u, %lld rows asked for of %lld",
                       rows->file->path, rows->member->name, rank, (long long)n,
                       (long long)(rows->n - rows->next));
    memcpy(dims, rows->member->dims, rank * sizeof *dims);
    dims[0] = n;
    enum ox_status status =
        rows->whole ? borrow_rows(rows, dims, out, err) : stream_rows(rows, dims, out, err);
    rows->next += status == OX_OK ? n : 0;
    return status;
}

enum ox_status ox_tensor_rows_finish(struct ox_tensor_rows *rows, struct ox_error *err)
{
    if (rows->whole || rows->next == rows->n)
        return OX_OK;
    OX_TRY(skip(rows, (uint64_t)(rows->n - rows->next) * rows->row_bytes, err));
    rows->next = rows->n;
    return check_end(rows, err);
}
