/* What the operators that move data share: strided copies by element size, index inputs, axes. */
#ifndef OX_OPS_MOVE_H
#define OX_OPS_MOVE_H

#include "common/compiler.h"
#include "ops/op.h"

/* Kernels of this kind keep their dims in arrays on the stack; a higher rank is refused by ox_move_rank(). */
enum { OX_MOVE_RANK = 64, OX_MOVE_AXES = 2 * OX_MOVE_RANK };

/* dst[i * to] = src[i * from] for every index i below dims. Strides count elements and may be negative or 0 (of src). */
struct ox_move {
    unsigned rank;
    int64_t dims[OX_MOVE_AXES];
    int64_t to[OX_MOVE_AXES];
    int64_t from[OX_MOVE_AXES];
};

/* Appends an axis. */
void ox_move_axis(struct ox_move *m, int64_t dim, int64_t to, int64_t from);
/* Drops axes of one element and merges those that are one run on both sides. False: nothing to move. */
bool ox_move_merge(struct ox_move *m);
/* size: bytes of an element (1, 2, 4, 8 or 16). Changes *m. */
void ox_move_run(struct ox_move *m, size_t size, void *dst, const void *src);
/* y[j * rows + i] = x[i * cols + j] for i < rows, j < cols, of elements of that many bytes. */
void ox_move_turn(size_t size, size_t rows, size_t cols, const void *x, void *y);
/* The same of rows `step` elements apart. */
void ox_move_turn_part(size_t size, size_t rows, size_t cols, const void *x, size_t step, void *y);
/* ox_move_run() on the environment's threads where that pays. No two elements go to the same place. */
void ox_move_spread(struct ox_env *env, struct ox_move *m, size_t size, void *dst, const void *src);
/* Output 0 of that shape, which the move fills on the environment's threads; the strings in it become its own. */
enum ox_status ox_move_out(struct ox_run *r, const struct ox_tensor *in, unsigned rank,
                           const int64_t *dims, struct ox_move *m, struct ox_error *err);
/* Row-major strides in elements. */
void ox_move_strides(unsigned rank, const int64_t *dims, int64_t *strides);
/* Places of the elements of `index` (shape dims, non-negative, at least one) in data of shape data_dims, the index standing in
 * for the place on `axis`. place may be index. */
void ox_move_places(unsigned rank, const int64_t *dims, const int64_t *data_dims, unsigned axis,
                    const int64_t *index, int64_t *place);
/* dst[i] = src[lists[0][i0], lists[1][i1], ...], *fill where one of them is negative. lists[k] has out[k] entries; nothing
 * is empty. */
void ox_move_lists(unsigned rank, const int64_t *dims, const int64_t *out,
                   const int64_t *const *lists, size_t size, const void *fill, void *dst,
                   const void *src);
/* dst[i] = *element for i below n. */
void ox_move_fill(void *dst, size_t n, size_t size, const void *element);

/* OX_LIMIT when the rank is over OX_MOVE_RANK. */
enum ox_status ox_move_rank(const struct ox_run *r, uint64_t rank, struct ox_error *err);
/* A tensor of strings whose elements were moved as bytes gets its own copy of their characters. Nothing to do
 * for other types. */
enum ox_status ox_move_own(struct ox_tensor *tensor, struct ox_error *err);
/* The same where all of them are strings of `of`, which may share their characters. */
enum ox_status ox_move_own_of(struct ox_tensor *tensor, const struct ox_tensor *of,
                              struct ox_error *err);
/* Input i, of int32 or int64, as int64; *values NULL and *n 0 when it is omitted. */
enum ox_status ox_move_ints(struct ox_run *r, size_t i, const int64_t **values, size_t *n,
                            struct ox_error *err);
/* The same of a list: an input of rank 1 at the most. */
enum ox_status ox_move_list(struct ox_run *r, size_t i, const int64_t **values, size_t *n,
                            struct ox_error *err);
/* Likewise, but it must be one element; *value is left alone when the input is omitted. */
enum ox_status ox_move_int(struct ox_run *r, size_t i, const char *name, int64_t *value,
                           struct ox_error *err);
/* OX_INPUT, of an index that is outside. */
enum ox_status ox_move_bad_index(const struct ox_run *r, const char *name, size_t at, int64_t index,
                                 int64_t size, struct ox_error *err);
/* index made non-negative for an axis of that size; OX_INPUT with "name[at] is ..." when it is outside. */
static inline enum ox_status ox_move_index(const struct ox_run *r, const char *name, size_t at,
                                           int64_t index, int64_t size, int64_t *out,
                                           struct ox_error *err)
{
    if (OX_UNLIKELY(index < -size || index >= size))
        return ox_move_bad_index(r, name, at, index, size, err);
    *out = index < 0 ? index + size : index;
    return OX_OK;
}
/* place[i]: the sum over m < k of strides[m] times index m of tuple first + i, which is made non-negative for an axis of dims[m], i < n;
 * OX_INPUT with "indices[...] is ..." when one is outside. */
enum ox_status ox_move_tuples(const struct ox_run *r, const int64_t *index, size_t first, size_t n,
                              size_t k, const int64_t *dims, const int64_t *strides, int64_t *place,
                              struct ox_error *err);
/* A list of axes made non-negative and checked to differ. out has room for n <= rank. */
enum ox_status ox_move_axes(const struct ox_run *r, const int64_t *axes, size_t n, unsigned rank,
                            unsigned *out, struct ox_error *err);
/* Output i is that tensor, converted to double where the run asks for it. */
enum ox_status ox_move_out_widened(struct ox_run *r, size_t i, const struct ox_tensor *tensor,
                                   struct ox_error *err);
/* The element 'value' as a tensor of that type and rank 0; the caller releases it. */
enum ox_status ox_move_scalar(struct ox_run *r, enum ox_dtype dtype, double value,
                              struct ox_tensor **out, struct ox_error *err);

#endif
