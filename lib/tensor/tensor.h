/* Tensors as the runtime holds them, and the other values that flow along edges. */
#ifndef OX_TENSOR_TENSOR_H
#define OX_TENSOR_TENSOR_H

#include <stdatomic.h>

#include "common/arena.h"
#include "common/error.h"

/* Gives up a reference; true: it was the last. Nobody can count with the only one, which is most often, so that a look is enough: it
 * costs a fraction of what taking the count down does. */
static inline bool ox_unref(_Atomic uint32_t *refs)
{
    return atomic_load_explicit(refs, memory_order_acquire) == 1 || atomic_fetch_sub(refs, 1) == 1;
}

/* An element of a string tensor; p need not end in NUL and may be NULL when n is 0. */
struct ox_str {
    const char *p;
    size_t n;
};

/* Counted memory that tensors share. */
struct ox_buffer {
    _Atomic uint32_t refs;
    void *data;
    size_t bytes; /* counted in the budget */
    struct ox_budget *budget;
    struct ox_arena strings;                /* characters of a string tensor */
    struct ox_buffer *lender;               /* holds characters of some of them; NULL */
    void (*on_release)(struct ox_buffer *); /* instead of free(data), for memory of somebody else */
    void *owner;
};

/* Dense, row-major, contiguous. In memory every element has whole bytes: 2-, 4- and 6-bit types take one byte an element
 * (value in two's complement or as the type's code), bool one byte of 0 or 1, strings a struct ox_str, complex
 * two floats. Immutable once it was handed on; counted. A scalar has rank 0. */
struct ox_tensor {
    _Atomic uint32_t refs;
    enum ox_dtype dtype;
    unsigned rank;
    size_t n; /* elements: the product of dims */
    void *data;
    struct ox_buffer *buffer;
    int64_t dims[];
};

unsigned ox_dtype_bits(enum ox_dtype dtype); /* in files; 0 for strings */
bool ox_dtype_is_float(
    enum ox_dtype dtype); /* all floating types, the 4-, 6- and 8-bit ones too; not complex */
/* float16 and bfloat16; asked of attributes too, so that any number will do. */
bool ox_dtype_is_half(int64_t dtype);
/* float16, bfloat16, float32, float64: what weights are of and arithmetic is done in. */
bool ox_dtype_is_real(int64_t dtype);
bool ox_dtype_is_integer(enum ox_dtype dtype);
bool ox_dtype_is_signed(enum ox_dtype dtype);

/* New and uninitialized (strings: empty). OX_NO_MEMORY, OX_LIMIT (budget, or a product of dims over SIZE_MAX/2),
 * OX_INPUT for a negative dimension. */
enum ox_status ox_tensor_new(struct ox_tensor **out, struct ox_budget *budget, enum ox_dtype dtype,
                             unsigned rank, const int64_t *dims, struct ox_error *err);
/* Another shape of the same n elements, sharing the buffer. */
enum ox_status ox_tensor_view(struct ox_tensor **out, const struct ox_tensor *of, unsigned rank,
                              const int64_t *dims, struct ox_error *err);
/* Elements [at, at + n) as a list, sharing the buffer. */
enum ox_status ox_tensor_part(struct ox_tensor **out, const struct ox_tensor *of, size_t at,
                              size_t n, struct ox_error *err);
/* Over memory of somebody else, which must outlive it, unless on_release gives it back (the buffer's owner and data are
 * for it; both may be NULL). Its bytes are in no budget. */
enum ox_status ox_tensor_borrow(struct ox_tensor **out, enum ox_dtype dtype, unsigned rank,
                                const int64_t *dims, const void *data,
                                void (*on_release)(struct ox_buffer *), void *owner,
                                struct ox_error *err);
struct ox_tensor *ox_tensor_ref(const struct ox_tensor *tensor);
/* Copies characters into the tensor's own memory and sets element i. */
enum ox_status ox_tensor_set_string(struct ox_tensor *tensor, size_t i, const char *p, size_t n,
                                    struct ox_error *err);

/* Elements that were copied from strings of `of` stay as they are, for its characters live as long as the tensor from now on.
 * False: they do not, so that each has to be set. */
bool ox_tensor_borrow_strings(struct ox_tensor *tensor, const struct ox_tensor *of);

/* Packed bytes as in raw_data (little-endian; 2-, 4- and 6-bit types as one stream of bits, low bits first) to memory and
 * back. n elements. Unpacking makes any nonzero bool 1. */
void ox_tensor_unpack(enum ox_dtype dtype, const void *packed, size_t n, void *out);
void ox_tensor_pack(enum ox_dtype dtype, const void *data, size_t n, void *packed);
/* Turns the bytes of each unit of `unit` bytes around. */
void ox_bytes_swap(void *data, size_t bytes, size_t unit);
/* Bytes of n elements when packed; false when that overflows. Strings: false. */
bool ox_dtype_packed_bytes(enum ox_dtype dtype, uint64_t n, uint64_t *bytes);

/* Product of dims with every check; false: a negative dimension or overflow. */
bool ox_dims_count(unsigned rank, const int64_t *dims, size_t *n);
bool ox_tensor_same_dims(const struct ox_tensor *a, const struct ox_tensor *b);
/* "[1,3,224,224]", cut where it is longer than `size`: text. */
const char *ox_tensor_print_dims(char *text, size_t size, const struct ox_tensor *tensor);

/* One element as a number: exact for integers in range, of complex the real part. Not for strings. */
double ox_tensor_get_double(const struct ox_tensor *tensor, size_t i);
/* Of a float truncated and saturated, NaN 0; uint64 saturates. */
int64_t ox_tensor_get_int(const struct ox_tensor *tensor, size_t i);

/* Brings elements made elsewhere to the form that memory has: bool 0 or 1, sub-byte integers sign-extended, codes of
 * sub-byte floats without other bits. In place. */
void ox_tensor_normalize(enum ox_dtype dtype, void *data, size_t n);

/* Another element type by the rules of Cast; each value is rounded once, to nearest even. `saturate` is Cast's attribute
 * for 8-bit floats; float8e8m0 rounds up, which is Cast's default. Integers drop high bits. What is out of an integer's range
 * in a float the standard leaves open: here it is, on every machine, what onnxruntime and numpy give on x86 and the suite's
 * 2- and 4-bit cases ask for: truncated to int32 (int64, uint32 and uint64 to themselves), INT32_MIN or INT64_MIN for what
 * does not fit that and NaN, of which the low bits stay. Of complex the real part. The same type: a new reference. Not for
 * strings. */
enum ox_status ox_tensor_convert(struct ox_tensor **out, struct ox_budget *budget,
                                 const struct ox_tensor *in, enum ox_dtype to, bool saturate,
                                 struct ox_error *err);
/* The same on bare memory of n elements: `to` and `from` must not overlap unless they are the same type. */
void ox_elements_convert(enum ox_dtype to_dtype, void *to, enum ox_dtype from_dtype,
                         const void *from, size_t n, bool saturate);

/* ---- Everything that can flow along an edge ---------------------------------------------------------------------- */

enum ox_datum_kind {
    OX_DATUM_TENSOR,
    OX_DATUM_SPARSE,
    OX_DATUM_SEQUENCE,
    OX_DATUM_OPTIONAL,
    OX_DATUM_MAP
};

/* Counted and, once handed on, immutable. */
struct ox_datum {
    _Atomic uint32_t refs;
    enum ox_datum_kind kind;
    struct ox_tensor *tensor;  /* TENSOR: it. SPARSE: values. MAP: keys, 1-D */
    struct ox_tensor *indices; /* SPARSE: as in SparseTensorProto. MAP: unused */
    struct ox_datum *
        *items; /* SEQUENCE: elements. OPTIONAL: 0 or 1. MAP: one datum, the values as 1-D tensor or
                                  a sequence */
    size_t n_items;
    enum ox_dtype elem;    /* SEQUENCE and OPTIONAL of tensors: the element type, also when empty */
    unsigned rank;         /* SPARSE */
    int64_t *dims;         /* SPARSE: dense shape */
    struct ox_datum *next; /* of ox_datum_release() alone */
};

/* All take their own reference on what they are given. */
enum ox_status ox_datum_sequence(struct ox_datum **out, enum ox_dtype elem,
                                 struct ox_datum *const *items, size_t n_items,
                                 struct ox_error *err);
enum ox_status ox_datum_optional(struct ox_datum **out, enum ox_dtype elem,
                                 struct ox_datum *item_or_null, struct ox_error *err);
enum ox_status ox_datum_map(struct ox_datum **out, const struct ox_tensor *keys,
                            struct ox_datum *values, struct ox_error *err);
enum ox_status ox_datum_sparse(struct ox_datum **out, const struct ox_tensor *values,
                               const struct ox_tensor *indices, unsigned rank, const int64_t *dims,
                               struct ox_error *err);
/* The dense tensor of a sparse one. OX_INPUT: an index is outside. */
enum ox_status ox_datum_densify(struct ox_datum **out, struct ox_budget *budget,
                                const struct ox_datum *sparse, struct ox_error *err);

#endif
