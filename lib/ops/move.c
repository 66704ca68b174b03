#include "ops/move.h"

#include <inttypes.h>
#include <string.h>

#include "kernels/bytes.h"
#include "kernels/casts.h"
#include "kernels/compute.h"
#include "ops/parts.h"

struct move_16 {
    uint64_t part[2];
};

/* The elements of a plane of few, in bytes from its first. */
enum { FEW_MOST = 16 };
struct few {
    unsigned n;
    int64_t to[FEW_MOST], from[FEW_MOST];
};

#define MOVE_SIZE 1
#define MOVE_T uint8_t
#define MOVE_NAME(name) name##_1
#include "ops/move_tmpl.h"
#define MOVE_SIZE 2
#define MOVE_T uint16_t
#define MOVE_NAME(name) name##_2
#include "ops/move_tmpl.h"
#define MOVE_SIZE 4
#define MOVE_T uint32_t
#define MOVE_NAME(name) name##_4
#include "ops/move_tmpl.h"
#define MOVE_SIZE 8
#define MOVE_T uint64_t
#define MOVE_NAME(name) name##_8
#include "ops/move_tmpl.h"
#define MOVE_SIZE 16
#define MOVE_T struct move_16
#define MOVE_NAME(name) name##_16
#include "ops/move_tmpl.h"

/* Below this many elements a call of a kernel costs more than it saves. */
enum { PLANE = 64 };

/* y[i * ldy + j] = x[j * ldx + i] by the kernels that transpose floats and bytes; they move bits. */
static void plane_1(char *dst, int64_t to_i, const char *src, int64_t from_j, int64_t n_i,
                    int64_t n_j)
{
    if (from_j <= 0 || to_i <= 0 || n_i * n_j < PLANE)
        move_plane_1(dst, to_i, src, from_j, n_i, n_j);
    else
        ox_bytes(ox_cpu())->transpose((size_t)n_j, (size_t)n_i, (const uint8_t *)src,
                                      (size_t)from_j, (uint8_t *)dst, (size_t)to_i);
}

static void plane_2(char *dst, int64_t to_i, const char *src, int64_t from_j, int64_t n_i,
                    int64_t n_j)
{
    const struct ox_bytes *t = ox_bytes(ox_cpu());
    const void *x = src;
    void *y = dst;

    if (from_j <= 0 || to_i <= 0 || n_i * n_j < PLANE || !t->transpose_pairs ||
        (uintptr_t)x % sizeof(uint16_t) || (uintptr_t)y % sizeof(uint16_t))
        move_plane_2(dst, to_i, src, from_j, n_i, n_j);
    else
        t->transpose_pairs((size_t)n_j, (size_t)n_i, x, (size_t)from_j / sizeof(uint16_t), y,
                           (size_t)to_i / sizeof(uint16_t));
}

static void plane_4(char *dst, int64_t to_i, const char *src, int64_t from_j, int64_t n_i,
                    int64_t n_j)
{
    const void *x = src;
    void *y = dst;

    if (from_j <= 0 || to_i <= 0 || n_i * n_j < PLANE || (uintptr_t)x % sizeof(float) ||
        (uintptr_t)y % sizeof(float))
        move_plane_4(dst, to_i, src, from_j, n_i, n_j);
    else
        ox_compute(ox_cpu())->transpose((size_t)n_j, (size_t)n_i, x, (size_t)from_j / sizeof(float),
                                        y, (size_t)to_i / sizeof(float));
}

static void plane_8(char *dst, int64_t to_i, const char *src, int64_t from_j, int64_t n_i,
                    int64_t n_j)
{
    const struct ox_bytes *t = ox_bytes(ox_cpu());
    const void *x = src;
    void *y = dst;

    if (from_j <= 0 || to_i <= 0 || n_i < 4 || n_j < 8 || !t->transpose_quads ||
        (uintptr_t)x % sizeof(uint64_t) || (uintptr_t)y % sizeof(uint64_t))
        move_plane_8(dst, to_i, src, from_j, n_i, n_j);
    else
        t->transpose_quads((size_t)n_j, (size_t)n_i, x, (size_t)from_j / sizeof(uint64_t), y,
                           (size_t)to_i / sizeof(uint64_t));
}

struct movers {
    void (*row)(char *dst, int64_t to, const char *src, int64_t from, int64_t n);
    void (*plane)(char *dst, int64_t to_i, const char *src, int64_t from_j, int64_t n_i,
                  int64_t n_j);
    void (*few)(char *dst, int64_t to, const char *src, int64_t from, int64_t n_o,
                const struct few *few);
};

static const struct movers *movers_of(size_t size)
{
    static const struct movers movers[] = {{move_row_1, plane_1, move_few_1},
                                           {move_row_2, plane_2, move_few_2},
                                           {move_row_4, plane_4, move_few_4},
                                           {move_row_8, plane_8, move_few_8},
                                           {move_row_16, move_plane_16, move_few_16}};

    switch (size) {
    case 1:
        return &movers[0];
    case 2:
        return &movers[1];
    case 4:
        return &movers[2];
    case 8:
        return &movers[3];
    default:
        return &movers[4];
    }
}

void ox_move_axis(struct ox_move *m, int64_t dim, int64_t to, int64_t from)
{
    m->dims[m->rank] = dim;
    m->to[m->rank] = to;
    m->from[m->rank] = from;
    m->rank++;
}

bool ox_move_merge(struct ox_move *m)
{
    unsigned n = 0;

    for (unsigned i = 0; i < m->rank; i++) {
        if (m->dims[i] == 0)
            return false;
    }
    for (unsigned i = 0; i < m->rank; i++) {
        if (m->dims[i] == 1)
            continue;
        int64_t dim = m->dims[i], to = m->to[i], from = m->from[i];

        if (n > 0 && m->to[n - 1] == to * dim && m->from[n - 1] == from * dim) {
            m->dims[n - 1] *= dim;
            m->to[n - 1] = to;
            m->from[n - 1] = from;
            continue;
        }
        m->dims[n] = dim;
        m->to[n] = to;
        m->from[n] = from;
        n++;
    }
    m->rank = n;
    return true;
}

/* Moves axis i to place n - 1, those after it down. */
static void move_last(struct ox_move *m, unsigned i, unsigned n)
{
    int64_t dim = m->dims[i], to = m->to[i], from = m->from[i];

    for (; i + 1 < n; i++) {
        m->dims[i] = m->dims[i + 1];
        m->to[i] = m->to[i + 1];
        m->from[i] = m->from[i + 1];
    }
    m->dims[i] = dim;
    m->to[i] = to;
    m->from[i] = from;
}

/* Steps through the first `outer` axes; false at the end. */
static bool move_step(const struct ox_move *m, unsigned outer, int64_t *at, char **dst,
                      const char **src)
{
    for (unsigned i = outer; i-- > 0;) {
        *dst += m->to[i];
        *src += m->from[i];
        if (++at[i] < m->dims[i])
            return true;
        *dst -= m->to[i] * m->dims[i];
        *src -= m->from[i] * m->dims[i];
        at[i] = 0;
    }
    return false;
}

/* A transposition of so few elements that its call takes longer: the axis before it is gone through beside it. */
static bool has_few(const struct ox_move *m, bool plane, struct few *few)
{
    enum { PLANES_LEAST = 8 };
    const unsigned last = m->rank - 1;
    if (!plane || last < 2 || m->dims[last - 2] < PLANES_LEAST || m->dims[last] > FEW_MOST ||
        m->dims[last - 1] > FEW_MOST / m->dims[last])
        return false;
    few->n = 0;
    for (int64_t i = 0; i < m->dims[last - 1]; i++)
        for (int64_t j = 0; j < m->dims[last]; j++) {
            few->to[few->n] = i * m->to[last - 1] + j * m->to[last];
            few->from[few->n++] = i * m->from[last - 1] + j * m->from[last];
        }
    return true;
}

/* The same bytes again and again, from what of them is there already. */
static void repeat_run(size_t times, const char *src, size_t run, char *dst)
{
    enum { NEAR = 4096 };
    const size_t all = times * run, most = run < NEAR ? NEAR / run * run : run;

    memcpy(dst, src, run);
    for (size_t have = run, n; have < all; have += n) {
        n = have < most ? have : most;
        n = n < all - have ? n : all - have;
        memcpy(dst + have, dst, n);
    }
}

void ox_move_run(struct ox_move *m, size_t size, void *dst_start, const void *src_start)
{
    enum { REPEATS = 16 }; /* of one element, that are as fast as a transposition's lines */
    enum { FEW_TIMES = 4 };
    const struct movers *movers = movers_of(size);
    int64_t at[OX_MOVE_AXES];
    int64_t bytes = (int64_t)size;
    char *dst = dst_start;
    const char *src = src_start;
    bool plane = false;

    if (!ox_move_merge(m))
        return;
    for (unsigned i = 0; i < m->rank; i++) {
        m->to[i] *= bytes;
        m->from[i] *= bytes;
    }
    if (m->rank == 0) {
        memcpy(dst, src, size);
        return;
    }
    unsigned last = m->rank - 1;

    const bool repeats = m->from[last] == 0 && m->dims[last] >= REPEATS;
    if (m->to[last] == bytes && m->from[last] != bytes && !repeats) {
        for (unsigned i = 0; i < last; i++) {
            if (m->from[i] == bytes) {
                move_last(m, i, last);
                plane = true;
                break;
            }
        }
    }
    const bool runs = m->to[last] == bytes && m->from[last] == bytes;
    const bool rows = runs && last > 0 && m->to[last - 1] >= 0 && m->from[last - 1] >= 0;
    const bool again = rows && m->from[last - 1] == 0 && m->dims[last - 1] >= FEW_TIMES &&
                       m->to[last - 1] == m->dims[last] * bytes;
    struct few few;
    const bool is_few = has_few(m, plane, &few);
    const unsigned outer = is_few ? last - 2 : plane || rows ? last - 1 : last;
    const size_t run = (size_t)(m->dims[last] * bytes);

    memset(at, 0, outer * sizeof(at[0]));
    do {
        if (again)
            repeat_run((size_t)m->dims[last - 1], src, run, dst);
        else if (rows)
            ox_parts_copy_rows((size_t)m->dims[last - 1], src, (size_t)m->from[last - 1], dst,
                               (size_t)m->to[last - 1], run);
        else if (is_few)
            movers->few(dst, m->to[last - 2], src, m->from[last - 2], m->dims[last - 2], &few);
        else if (plane)
            movers->plane(dst, m->to[last - 1], src, m->from[last], m->dims[last - 1],
                          m->dims[last]);
        else if (runs)
            memcpy(dst, src, run);
        else
            movers->row(dst, m->to[last], src, m->from[last], m->dims[last]);
    } while (move_step(m, outer, at, &dst, &src));
}

void ox_move_turn_part(size_t size, size_t rows, size_t cols, const void *x, size_t step, void *y)
{
    movers_of(size)->plane(y, (int64_t)(rows * size), x, (int64_t)(step * size), (int64_t)cols,
                           (int64_t)rows);
}

void ox_move_turn(size_t size, size_t rows, size_t cols, const void *x, void *y)
{
    ox_move_turn_part(size, rows, cols, x, cols, y);
}

void ox_move_strides(unsigned rank, const int64_t *dims, int64_t *strides)
{
    int64_t stride = 1;

    for (unsigned i = rank; i-- > 0;) {
        strides[i] = stride;
        /* Nothing is moved when another axis is empty: no product of the rest may overflow then. */
        if (OX_MUL_OVERFLOWS(stride, dims[i], &stride))
            stride = 0;
    }
}

void ox_move_places(unsigned rank, const int64_t *dims, const int64_t *data_dims, unsigned axis,
                    const int64_t *index, int64_t *place)
{
    int64_t strides[OX_MOVE_RANK], at[OX_MOVE_RANK] = {0}, base = 0;
    size_t n = 1, last = rank - 1;

    ox_move_strides(rank, data_dims, strides);
    for (unsigned i = 0; i < rank; i++)
        n *= (size_t)dims[i];
    for (size_t i = 0; i < n; i += (size_t)dims[last]) {
        int64_t step = axis == last ? 0 : strides[last];

        for (int64_t k = 0; k < dims[last]; k++)
            place[i + (size_t)k] = base + k * step + index[i + (size_t)k] * strides[axis];
        for (size_t k = last; k-- > 0;) {
            base += k == axis ? 0 : strides[k];
            if (++at[k] < dims[k])
                break;
            base -= k == axis ? 0 : strides[k] * dims[k];
            at[k] = 0;
        }
    }
}

void ox_move_fill(void *dst, size_t n, size_t size, const void *element)
{
    static const char zeros[16];

    if (n == 0)
        return;
    if (memcmp(element, zeros, size) == 0)
        memset(dst, 0, n * size);
    else
        movers_of(size)->row(dst, (int64_t)size, element, 0, (int64_t)n);
}

void ox_move_lists(unsigned rank, const int64_t *dims, const int64_t *out,
                   const int64_t *const *lists, size_t size, const void *fill, void *dst_start,
                   const void *src)
{
    int64_t strides[OX_MOVE_RANK], at[OX_MOVE_RANK] = {0};
    unsigned last = rank - 1;
    char *dst = dst_start;

    if (rank == 0) {
        memcpy(dst, src, size);
        return;
    }
    ox_move_strides(rank, dims, strides);
    for (;;) {
        int64_t base = 0;
        bool outside = false;
        unsigned k = last;

        for (unsigned i = 0; i < last; i++) {
            base += lists[i][at[i]] * strides[i];
            outside = outside || lists[i][at[i]] < 0;
        }
        for (int64_t i = 0; i < out[last]; i++, dst += size) {
            int64_t from = lists[last][i];

            memcpy(dst,
                   outside || from < 0 ? fill : (const char *)src + (size_t)(base + from) * size,
                   size);
        }
        while (k > 0 && ++at[k - 1] == out[k - 1])
            at[--k] = 0;
        if (k == 0)
            return;
    }
}

enum ox_status ox_move_rank(const struct ox_run *r, uint64_t rank, struct ox_error *err)
{
    if (rank > OX_MOVE_RANK)
        return ox_run_fail(r, err, OX_LIMIT, "rank %" PRIu64 " is over the limit of %d", rank,
                           OX_MOVE_RANK);
    return OX_OK;
}

enum ox_status ox_move_own(struct ox_tensor *tensor, struct ox_error *err)
{
    if (tensor->dtype != OX_STRING)
        return OX_OK;
    const struct ox_str *strings = tensor->data;

    for (size_t i = 0; i < tensor->n; i++)
        OX_TRY(ox_tensor_set_string(tensor, i, strings[i].p, strings[i].n, err));
    return OX_OK;
}

enum ox_status ox_move_own_of(struct ox_tensor *tensor, const struct ox_tensor *of,
                              struct ox_error *err)
{
    const bool shared = tensor->dtype == OX_STRING && ox_tensor_borrow_strings(tensor, of);
    return shared ? OX_OK : ox_move_own(tensor, err);
}

enum ox_status ox_move_ints(struct ox_run *r, size_t i, const int64_t **values, size_t *n,
                            struct ox_error *err)
{
    enum { FEW = 256 }; /* of which the memory does not matter */
    const struct ox_tensor *tensor = ox_run_in(r, i);

    *values = NULL;
    *n = 0;
    if (!tensor)
        return OX_OK;
    if (tensor->dtype == OX_INT64 && tensor->n > 0) {
        *values = tensor->data;
        *n = tensor->n;
        return OX_OK;
    }
    const bool many = tensor->n > FEW;
    int64_t *wide = (many ? ox_run_work : ox_run_scratch)(r, tensor->n + 1, sizeof(*wide), err);

    if (!wide)
        return OX_NO_MEMORY;
    if (tensor->dtype != OX_INT32 ||
        !ox_cast_run(ox_cpu(), OX_INT32, OX_INT64, tensor->n, tensor->data, wide))
        for (size_t k = 0; k < tensor->n; k++)
            wide[k] = ox_tensor_get_int(tensor, k);
    *values = wide;
    *n = tensor->n;
    return OX_OK;
}

enum ox_status ox_move_list(struct ox_run *r, size_t i, const int64_t **values, size_t *n,
                            struct ox_error *err)
{
    const struct ox_tensor *tensor = ox_run_in(r, i);
    if (tensor && tensor->rank > 1)
        return ox_run_fail(r, err, OX_INPUT, "input %zu has rank %u where a list is wanted", i,
                           tensor->rank);
    return ox_move_ints(r, i, values, n, err);
}

enum ox_status ox_move_int(struct ox_run *r, size_t i, const char *name, int64_t *value,
                           struct ox_error *err)
{
    const struct ox_tensor *tensor = ox_run_in(r, i);

    if (!tensor)
        return OX_OK;
    if (tensor->n != 1)
        return ox_run_fail(r, err, OX_INPUT, "%s has %zu elements, not 1", name, tensor->n);
    *value = ox_tensor_get_int(tensor, 0);
    return OX_OK;
}

enum ox_status ox_move_bad_index(const struct ox_run *r, const char *name, size_t at, int64_t index,
                                 int64_t size, struct ox_error *err)
{
    return ox_run_fail(r, err, OX_INPUT,
                       "%s[%zu] is %" PRId64 ", outside [%" PRId64 ", %" PRId64 "]", name, at,
                       index, -size, size - 1);
}

enum ox_status ox_move_axes(const struct ox_run *r, const int64_t *axes, size_t n, unsigned rank,
                            unsigned *out, struct ox_error *err)
{
    bool seen[OX_MOVE_RANK] = {false};

    OX_TRY(ox_move_rank(r, rank, err));
    if (n > rank)
        return ox_run_fail(r, err, OX_INPUT, "%zu axes for a tensor of rank %u", n, rank);
    for (size_t i = 0; i < n; i++) {
        OX_TRY(ox_run_axis(r, axes[i], rank, &out[i], err));
        if (seen[out[i]])
            return ox_run_fail(r, err, OX_INPUT, "axis %" PRId64 " is given twice", axes[i]);
        seen[out[i]] = true;
    }
    return OX_OK;
}

enum ox_status ox_move_out_widened(struct ox_run *r, size_t i, const struct ox_tensor *tensor,
                                   struct ox_error *err)
{
    struct ox_tensor *wide;

    if (!r->oracle || (tensor->dtype != OX_FLOAT32 && tensor->dtype != OX_FLOAT16 &&
                       tensor->dtype != OX_BFLOAT16))
        return ox_run_out_tensor(r, i, tensor, err);
    OX_TRY(ox_tensor_convert(&wide, ox_env_budget(r->env), tensor, OX_FLOAT64, true, err));
    enum ox_status status = ox_run_out_tensor(r, i, wide, err);

    ox_tensor_release(wide);
    return status;
}

enum ox_status ox_move_scalar(struct ox_run *r, enum ox_dtype dtype, double value,
                              struct ox_tensor **out, struct ox_error *err)
{
    struct ox_tensor *wide;

    OX_TRY(ox_tensor_new(&wide, ox_env_budget(r->env), OX_FLOAT64, 0, NULL, err));
    *(double *)wide->data = value;
    enum ox_status status = ox_tensor_convert(out, ox_env_budget(r->env), wide, dtype, true, err);

    ox_tensor_release(wide);
    return status;
}
