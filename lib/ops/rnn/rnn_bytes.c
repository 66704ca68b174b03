#include "ops/rnn/rnn_bytes.h"

#include <math.h>

#include "kernels/bytes.h"
#include "ops/fast/fast.h"
#include "ops/int8/int8.h"

static size_t padded(size_t bytes)
{
    return bytes > SIZE_MAX - 63 ? SIZE_MAX : (bytes + 63) / 64 * 64;
}

bool ox_rnn_bytes_can(const struct ox_run *r, size_t i, size_t i_scale)
{
    const struct ox_tensor *w = ox_int8_in(r, i), *scale = ox_fast_in(r, i_scale);
    const struct ox_tensor *zero = ox_int8_in(r, i_scale + 1);
    if (!w || !scale || !zero || w->rank != 3 || zero->dtype != w->dtype)
        return false;
    const size_t directions = (size_t)w->dims[0];
    return (scale->n == directions || scale->n == directions * (size_t)w->dims[2]) &&
           zero->n == scale->n;
}

size_t ox_rnn_bytes_size(const struct ox_tensor *w)
{
    const size_t n = (size_t)w->dims[2];
    const size_t packed = ox_integer_dense_packed(ox_integer(ox_cpu()), (size_t)w->dims[1], n);
    size_t bytes;
    if (packed > SIZE_MAX - 63 || OX_MUL_OVERFLOWS(padded(n * sizeof(float)), (size_t)3, &bytes) ||
        OX_ADD_OVERFLOWS(bytes, padded(packed), &bytes))
        return SIZE_MAX;
    return bytes;
}

void ox_rnn_bytes_pack(const struct ox_run *r, size_t i, size_t i_scale, size_t which, void *block,
                       struct ox_rnn_bytes *out)
{
    const struct ox_tensor *w = ox_run_in(r, i), *scales = ox_run_in(r, i_scale);
    const struct ox_tensor *zeros = ox_run_in(r, i_scale + 1);
    const struct ox_integer *t = ox_integer(ox_cpu());
    const size_t k = (size_t)w->dims[1], n = (size_t)w->dims[2], part = padded(n * sizeof(float));
    const bool columns = scales->n != (size_t)w->dims[0], is_signed = w->dtype == OX_INT8;
    const uint8_t *weights = (const uint8_t *)w->data + which * k * n;
    char *at = block;
    int32_t *sums = (int32_t *)(void *)at, *zero = (int32_t *)(void *)(at + part);
    float *scale = (float *)(void *)(at + 2 * part);
    void *packed = at + 3 * part;
    bool any = false;
    ox_integer_dense_pack(t, r->env, k, n, weights, is_signed, n, 1, r->once, packed);
    ox_integer_sums(n, k, weights, is_signed, n, 1, sums);
    for (size_t j = 0; j < n; j++) {
        const size_t from = columns ? which * n + j : which;
        scale[j] = ((const float *)scales->data)[from];
        zero[j] = (is_signed ? ((const int8_t *)zeros->data)[from]
                             : ((const uint8_t *)zeros->data)[from] - 128);
        any |= zero[j] != 0;
    }
    *out = (struct ox_rnn_bytes){
        .table = t, .n = n, .k = k, .packed = packed, .sums = sums, .scale = scale};
    if (any)
        out->zero = zero;
}

static struct ox_integer_dense dense_of(const struct ox_rnn_bytes *w, size_t rows)
{
    return (struct ox_integer_dense){
        .m = rows,
        .n = w->n,
        .k = w->k,
        .a_row = w->k,
        .packed = w->packed,
        .c_row = w->n,
        .end = {
            .type = OX_INTEGER_F32, .weight_zero = w->zero, .lo_f = -INFINITY, .hi_f = INFINITY}};
}

/* Work memory: codes, then scales and offsets of a column each, then what the kernels want. */
static size_t codes_bytes(const struct ox_rnn_bytes *w, size_t rows)
{
    size_t bytes;
    return OX_MUL_OVERFLOWS(rows, w->k, &bytes) ? SIZE_MAX : padded(bytes);
}

size_t ox_rnn_bytes_work(const struct ox_rnn_bytes *w, const struct ox_env *env, size_t rows)
{
    const struct ox_integer_dense d = dense_of(w, rows);
    size_t bytes = ox_integer_dense_work(w->table, env, &d);
    if (OX_ADD_OVERFLOWS(bytes, 2 * padded(w->n * sizeof(float)), &bytes) ||
        OX_ADD_OVERFLOWS(bytes, codes_bytes(w, rows), &bytes))
        return SIZE_MAX;
    return bytes;
}

void ox_rnn_bytes_multiply(const struct ox_rnn_bytes *w, struct ox_env *env, size_t rows,
                           const float *x, const float *bias, float *y, void *work)
{
    const size_t part = padded(w->n * sizeof(float));
    uint8_t *codes = work;
    float *scale = (float *)(void *)(codes + codes_bytes(w, rows));
    int32_t *offset = (int32_t *)(void *)((char *)scale + part);
    struct ox_integer_dense d = dense_of(w, rows);
    struct ox_bytes_code code;
    if (!ox_int8_code_of(NULL, rows * w->k, x, &code))
        code.zero = 0; /* codes of no meaning, as the operator's definition leaves them */
    ox_bytes(ox_cpu())->quantize(rows * w->k, x, &code, codes);
    ox_fast_rows()->binary[OX_BINARY_MUL][OX_ROW_RIGHT_ONE](w->n, w->scale, &code.scale, scale);
    ox_integer_offsets(w->n, w->k, w->sums, code.zero, w->zero, NULL, offset);
    d.a = codes;
    d.c = y;
    d.end.scale = scale;
    d.end.offset = offset;
    d.end.bias = bias;
    ox_integer_dense_run(w->table, env, &d, (char *)offset + part);
}
