#include "tensor/tensor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/env.h"
#include "common/pages.h"

enum {
    ALIGN = 64, /* bytes: a cache line, the widest vector */
    STRUCTS = sizeof(struct ox_buffer) + sizeof(struct ox_tensor)
};

bool ox_dims_count(unsigned rank, const int64_t *dims, size_t *n)
{
    size_t count = 1;
    bool zero = false;
    bool overflow = false;
    /* A zero makes the whole empty, however large the others: 0 x 2^62 x 2^62 is a legal shape. */
    for (unsigned i = 0; i < rank; i++) {
        if (dims[i] < 0)
            return false;
        zero = zero || dims[i] == 0;
        overflow = overflow || OX_MUL_OVERFLOWS(count, (uint64_t)dims[i], &count);
    }
    if (overflow && !zero)
        return false;
    *n = zero ? 0 : count;
    return true;
}

static void dims_text(struct ox_strbuf *text, unsigned rank, const int64_t *dims)
{
    ox_strbuf_init(text);
    ox_strbuf_putc(text, '[');
    for (unsigned i = 0; i < rank && i < 16; i++)
        ox_strbuf_printf(text, "%s%lld", i ? "," : "", (long long)dims[i]);
    ox_strbuf_puts(text, rank > 16 ? ",...]" : "]");
}

static enum ox_status bad_dims(enum ox_status status, const char *what, enum ox_dtype dtype,
                               unsigned rank, const int64_t *dims, struct ox_error *err)
{
    struct ox_strbuf text;
    dims_text(&text, rank, dims);
    ox_fail(err, status, "%s %s: %s", ox_dtype_name(dtype), ox_strbuf_text(&text, NULL), what);
    ox_strbuf_release(&text);
    return status;
}

/* Kernels go along the other dimensions of a tensor without elements too: as many steps as with one element in place of none. */
static bool is_endless(unsigned rank, const int64_t *dims)
{
    static const int64_t MOST = INT64_C(1) << 32; /* elements: 16 GB of floats, and seconds */
    int64_t steps = 1;
    for (unsigned i = 0; i < rank; i++) {
        if (dims[i] > MOST / steps)
            return true;
        steps *= dims[i] ? dims[i] : 1;
    }
    return false;
}

static enum ox_status count_elements(enum ox_dtype dtype, unsigned rank, const int64_t *dims,
                                     size_t *n, size_t *bytes, struct ox_error *err)
{
    size_t size = ox_dtype_size(dtype);
    if (size == 0)
        return ox_fail(err, OX_INPUT, "a tensor of element type %d, which does not exist",
                       (int)dtype);
    for (unsigned i = 0; i < rank; i++)
        if (dims[i] < 0)
            return bad_dims(OX_INPUT, "a dimension is negative", dtype, rank, dims, err);
    if (!ox_dims_count(rank, dims, n) || OX_MUL_OVERFLOWS(*n, size, bytes) || *bytes > SIZE_MAX / 2)
        return bad_dims(OX_LIMIT, "larger than the address space", dtype, rank, dims, err);
    if (*n == 0 && is_endless(rank, dims))
        return bad_dims(OX_LIMIT, "empty, but its other dimensions are too large", dtype, rank,
                        dims, err);
    return OX_OK;
}

/* Where a page of the system's own, large or not, is no matter: sanitizers watch what lies around a block of malloc. */
#ifdef OX_SANITIZE
static bool is_paged(enum ox_dtype dtype, size_t padded)
{
    (void)dtype;
    (void)padded;
    return false;
}
#else
/* Large ones take huge pages, for a fault costs more than what is written to a small page. */
static bool is_paged(enum ox_dtype dtype, size_t padded)
{
    enum { LEAST = 2 << 20 };
    return padded >= LEAST && dtype != OX_STRING;
}
#endif

static void release_pages(struct ox_buffer *buffer)
{
    ox_pages_release(buffer->data, buffer->bytes - STRUCTS);
}

static void buffer_unref(struct ox_buffer *buffer)
{
    while (buffer && ox_unref(&buffer->refs)) {
        struct ox_buffer *lender = buffer->lender;
        if (buffer->on_release)
            buffer->on_release(buffer);
        else
            free(buffer->data);
        ox_arena_release(&buffer->strings);
        ox_budget_give(buffer->budget, buffer->bytes);
        free(buffer);
        buffer = lender;
    }
}

static struct ox_tensor *tensor_struct(enum ox_dtype dtype, unsigned rank, const int64_t *dims,
                                       size_t n)
{
    struct ox_tensor *tensor = malloc(sizeof *tensor + rank * sizeof dims[0]);
    if (!tensor)
        return NULL;
    *tensor = (struct ox_tensor){.refs = 1, .dtype = dtype, .rank = rank, .n = n};
    if (rank)
        memcpy(tensor->dims, dims, rank * sizeof dims[0]);
    return tensor;
}

enum ox_status ox_tensor_new(struct ox_tensor **out, struct ox_budget *budget, enum ox_dtype dtype,
                             unsigned rank, const int64_t *dims, struct ox_error *err)
{
    size_t n;
    size_t bytes;
    OX_TRY(count_elements(dtype, rank, dims, &n, &bytes, err));
    size_t padded = (bytes + ALIGN - 1) / ALIGN * ALIGN;
    if (padded == 0)
        padded = ALIGN;
    size_t counted = padded + STRUCTS;
    if (!ox_budget_take(budget, counted))
        return bad_dims(OX_LIMIT, "goes over the memory limit", dtype, rank, dims, err);
    struct ox_tensor *tensor = tensor_struct(dtype, rank, dims, n);
    struct ox_buffer *buffer = calloc(1, sizeof *buffer);
    const bool paged = is_paged(dtype, padded);
    void *data = paged ? ox_pages_new(padded) : aligned_alloc(ALIGN, padded);
    if (!tensor || !buffer || !data) {
        if (paged)
            ox_pages_release(data, padded);
        else
            free(data);
        free(buffer);
        free(tensor);
        ox_budget_give(budget, counted);
        return bad_dims(OX_NO_MEMORY, "out of memory", dtype, rank, dims, err);
    }
    if (dtype == OX_STRING)
        memset(data, 0, padded);
    buffer->refs = 1;
    buffer->data = data;
    buffer->bytes = counted;
    buffer->budget = budget;
    buffer->on_release = paged ? release_pages : NULL;
    ox_arena_init(&buffer->strings, budget);
    tensor->data = data;
    tensor->buffer = buffer;
    *out = tensor;
    return OX_OK;
}

enum ox_status ox_tensor_view(struct ox_tensor **out, const struct ox_tensor *of, unsigned rank,
                              const int64_t *dims, struct ox_error *err)
{
    size_t n;
    size_t bytes;
    OX_TRY(count_elements(of->dtype, rank, dims, &n, &bytes, err));
    if (n != of->n)
        return bad_dims(OX_INPUT, "is no shape for that many elements", of->dtype, rank, dims, err);
    struct ox_tensor *view = tensor_struct(of->dtype, rank, dims, n);
    if (!view)
        return ox_no_memory(err);
    view->data = of->data;
    view->buffer = of->buffer;
    atomic_fetch_add(&of->buffer->refs, 1);
    *out = view;
    return OX_OK;
}

enum ox_status ox_tensor_part(struct ox_tensor **out, const struct ox_tensor *of, size_t at,
                              size_t n, struct ox_error *err)
{
    const int64_t dim = (int64_t)n;
    struct ox_tensor *part = tensor_struct(of->dtype, 1, &dim, n);
    if (!part)
        return ox_no_memory(err);
    part->data = (char *)of->data + at * ox_dtype_size(of->dtype);
    part->buffer = of->buffer;
    atomic_fetch_add(&of->buffer->refs, 1);
    *out = part;
    return OX_OK;
}

/* The release of what nobody gives back. */
static void keep_data(struct ox_buffer *buffer)
{
    buffer->data = NULL;
}

enum ox_status ox_tensor_borrow(struct ox_tensor **out, enum ox_dtype dtype, unsigned rank,
                                const int64_t *dims, const void *data,
                                void (*on_release)(struct ox_buffer *), void *owner,
                                struct ox_error *err)
{
    size_t n;
    size_t bytes;
    OX_TRY(count_elements(dtype, rank, dims, &n, &bytes, err));
    struct ox_tensor *tensor = tensor_struct(dtype, rank, dims, n);
    struct ox_buffer *buffer = malloc(sizeof *buffer);
    if (!tensor || !buffer) {
        free(buffer);
        free(tensor);
        return ox_no_memory(err);
    }
    *buffer = (struct ox_buffer){.refs = 1,
                                 .data = (void *)(uintptr_t)data,
                                 .bytes = bytes,
                                 .on_release = on_release ? on_release : keep_data,
                                 .owner = owner};
    tensor->data = buffer->data;
    tensor->buffer = buffer;
    *out = tensor;
    return OX_OK;
}

struct ox_tensor *ox_tensor_ref(const struct ox_tensor *tensor)
{
    struct ox_tensor *same = (struct ox_tensor *)(uintptr_t)tensor;
    if (same)
        atomic_fetch_add(&same->refs, 1);
    return same;
}

void ox_tensor_release(struct ox_tensor *tensor)
{
    if (!tensor || !ox_unref(&tensor->refs))
        return;
    buffer_unref(tensor->buffer);
    free(tensor);
}

enum ox_status ox_tensor_set_string(struct ox_tensor *tensor, size_t i, const char *p, size_t n,
                                    struct ox_error *err)
{
    char *copy = n ? ox_arena_strndup(&tensor->buffer->strings, p, n) : NULL;
    if (n && !copy)
        return ox_fail(err, OX_NO_MEMORY, "no memory for a string of %zu bytes", n);
    ((struct ox_str *)tensor->data)[i] = (struct ox_str){copy, n};
    return OX_OK;
}

bool ox_tensor_borrow_strings(struct ox_tensor *tensor, const struct ox_tensor *of)
{
    struct ox_buffer *from = of->buffer, *to = tensor->buffer;
    if (from->on_release || to->on_release || to->lender || (from->lender && from->strings.blocks))
        return false;
    to->lender = from->lender ? from->lender : from; /* no chains, which would hold every link */
    atomic_fetch_add(&to->lender->refs, 1);
    return true;
}

enum ox_status ox_tensor_from_data(struct ox_tensor **out, struct ox_env *env, enum ox_dtype dtype,
                                   unsigned rank, const int64_t *dims, const void *data,
                                   struct ox_error *err)
{
    if (dtype == OX_STRING)
        return ox_fail(err, OX_USAGE, "strings are made by ox_tensor_from_strings()");
    struct ox_tensor *tensor;
    OX_TRY(ox_tensor_new(&tensor, ox_env_budget(env), dtype, rank, dims, err));
    if (tensor->n) {
        memcpy(tensor->data, data, tensor->n * ox_dtype_size(dtype));
        ox_tensor_normalize(dtype, tensor->data, tensor->n);
    }
    *out = tensor;
    return OX_OK;
}

enum ox_status ox_tensor_from_strings(struct ox_tensor **out, struct ox_env *env, unsigned rank,
                                      const int64_t *dims, const char *const *strings,
                                      struct ox_error *err)
{
    struct ox_tensor *tensor;
    OX_TRY(ox_tensor_new(&tensor, ox_env_budget(env), OX_STRING, rank, dims, err));
    for (size_t i = 0; i < tensor->n; i++) {
        enum ox_status status =
            ox_tensor_set_string(tensor, i, strings[i], strlen(strings[i]), err);
        if (status != OX_OK) {
            ox_tensor_release(tensor);
            return status;
        }
    }
    *out = tensor;
    return OX_OK;
}

enum ox_dtype ox_tensor_dtype(const struct ox_tensor *tensor)
{
    return tensor->dtype;
}

unsigned ox_tensor_rank(const struct ox_tensor *tensor)
{
    return tensor->rank;
}

const int64_t *ox_tensor_dims(const struct ox_tensor *tensor)
{
    return tensor->dims;
}

size_t ox_tensor_count(const struct ox_tensor *tensor)
{
    return tensor->n;
}

const void *ox_tensor_data(const struct ox_tensor *tensor)
{
    return tensor->data;
}

const char *ox_tensor_string(const struct ox_tensor *tensor, size_t i, size_t *n)
{
    const struct ox_str *string = (const struct ox_str *)tensor->data + i;
    *n = string->n;
    return string->p ? string->p : "";
}

bool ox_tensor_same_dims(const struct ox_tensor *a, const struct ox_tensor *b)
{
    return a->rank == b->rank &&
           (!a->rank || memcmp(a->dims, b->dims, a->rank * sizeof *a->dims) == 0);
}

const char *ox_tensor_print_dims(char *text, size_t size, const struct ox_tensor *tensor)
{
    size_t at = (size_t)snprintf(text, size, "[");
    for (unsigned k = 0; k < tensor->rank && at < size; k++)
        at += (size_t)snprintf(text + at, size - at, "%s%lld", k ? "," : "",
                               (long long)tensor->dims[k]);
    if (at < size)
        snprintf(text + at, size - at, "]");
    return text;
}
