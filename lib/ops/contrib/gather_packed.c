/* GatherPacked of com.microsoft: rows of a table of codes in blocks, as numbers. Formats go by the numbers and layouts of GGUF files:
 * https://github.com/ggml-org/ggml/blob/master/docs/gguf.md */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "common/threads.h"
#include "ops/infer.h"
#include "ops/real.h"
#include "ops/rules.h"

static double half_at(const uint8_t *p)
{
    const uint16_t bits = (uint16_t)(p[0] | p[1] << 8);
    double value;
    ox_elements_convert(OX_FLOAT64, &value, OX_FLOAT16, &bits, 1, true);
    return value;
}

static double signed_at(const uint8_t *p)
{
    return *p < 128 ? *p : *p - 256;
}

/* ---- Blocks as numbers -------------------------------------------------------------------------------------------- */

static void widen_float32(const uint8_t *in, double *out)
{
    const uint32_t bits =
        (uint32_t)in[0] | (uint32_t)in[1] << 8 | (uint32_t)in[2] << 16 | (uint32_t)in[3] << 24;
    float value;
    memcpy(&value, &bits, sizeof value);
    *out = (double)value;
}

static void widen_float16(const uint8_t *in, double *out)
{
    *out = half_at(in);
}

static void widen_bfloat16(const uint8_t *in, double *out)
{
    const uint8_t bytes[4] = {0, 0, in[0], in[1]};
    widen_float32(bytes, out);
}

/* A scale and 32 codes, the first 16 in the low halves of bytes. */
static void widen_q4_0(const uint8_t *in, double *out)
{
    const double scale = half_at(in);
    for (size_t i = 0; i < 32; i++)
        out[i] = scale * ((in[2 + i % 16] >> (i < 16 ? 0 : 4) & 15) - 8);
}

/* The same with fifth bits of their own. */
static void widen_q5_0(const uint8_t *in, double *out)
{
    const double scale = half_at(in);
    for (size_t i = 0; i < 32; i++) {
        const int high = in[2 + i / 8] >> i % 8 & 1;
        out[i] = scale * ((in[6 + i % 16] >> (i < 16 ? 0 : 4) & 15) + 16 * high - 16);
    }
}

static void widen_q8_0(const uint8_t *in, double *out)
{
    const double scale = half_at(in);
    for (size_t i = 0; i < 32; i++)
        out[i] = scale * signed_at(in + 2 + i);
}

/* Eight steps and eight least values of 6 bits each in 12 bytes: those of the last four have their high bits with the first four's. */
static void read_steps(const uint8_t *in, size_t i, double *step, double *least)
{
    if (i < 4) {
        *step = in[i] & 63;
        *least = in[i + 4] & 63;
        return;
    }
    *step = (in[i + 4] & 15) | in[i - 4] >> 6 << 4;
    *least = in[i + 4] >> 4 | in[i] >> 6 << 4;
}

/* 8 groups of 32: a scale and a least value of the block, steps of the groups, fifth bits (bit g of byte i), low four bits. */
static void widen_q5_k(const uint8_t *in, double *out)
{
    const double scale = half_at(in), lowest = half_at(in + 2);
    const uint8_t *high = in + 16, *low = in + 48;
    for (size_t g = 0; g < 8; g++) {
        double step, least;
        read_steps(in + 4, g, &step, &least);
        for (size_t i = 0; i < 32; i++) {
            const int code =
                (low[g / 2 * 32 + i] >> (g % 2 ? 4 : 0) & 15) + 16 * (high[i] >> g & 1);
            out[g * 32 + i] = scale * step * code - lowest * least;
        }
    }
}

/* Two halves of 128: low four bits in 64 bytes, high two in 32, steps of 16 elements each. */
static void widen_q6_k(const uint8_t *in, double *out)
{
    const uint8_t *low = in, *high = in + 128, *steps = in + 192;
    const double scale = half_at(in + 208);
    for (size_t i = 0; i < 256; i++) {
        const size_t half = i / 128, at = i % 128, quarter = at / 32;
        const uint8_t byte = low[half * 64 + at % 64];
        const int code = (byte >> (quarter < 2 ? 0 : 4) & 15) |
                         (high[half * 32 + at % 32] >> 2 * quarter & 3) << 4;
        out[i] = scale * signed_at(steps + i / 16) * (code - 32);
    }
}

static const int8_t levels[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                  1,    13,   25,  38,  53,  69,  89,  113};

static void widen_levels(const uint8_t *in, double scale, double *out)
{
    for (size_t i = 0; i < 32; i++)
        out[i] = scale * levels[in[i % 16] >> (i < 16 ? 0 : 4) & 15];
}

static void widen_iq4_nl(const uint8_t *in, double *out)
{
    widen_levels(in + 2, half_at(in), out);
}

/* Eight of them with steps of 6 bits: the high two in one word, the low four in 4 bytes. */
static void widen_iq4_xs(const uint8_t *in, double *out)
{
    const double scale = half_at(in);
    for (size_t g = 0; g < 8; g++) {
        const int high = in[2 + g / 4] >> 2 * (g % 4) & 3, low = in[4 + g / 2] >> 4 * (g % 2) & 15;
        widen_levels(in + 8 + 16 * g, scale * (16 * high + low - 32), out + 32 * g);
    }
}

static void widen_q2_0(const uint8_t *in, double *out)
{
    const double scale = half_at(in);
    for (size_t i = 0; i < 64; i++)
        out[i] = scale * ((in[2 + i / 4] >> 2 * (i % 4) & 3) - 1);
}

static const struct format {
    int64_t id;
    const char *name;
    size_t elements, bytes; /* of a block */
    void (*widen)(const uint8_t *in, double *out);
} formats[] = {{0, "F32", 1, 4, widen_float32},        {1, "F16", 1, 2, widen_float16},
               {2, "Q4_0", 32, 18, widen_q4_0},        {6, "Q5_0", 32, 22, widen_q5_0},
               {8, "Q8_0", 32, 34, widen_q8_0},        {13, "Q5_K", 256, 176, widen_q5_k},
               {14, "Q6_K", 256, 210, widen_q6_k},     {16, "IQ2_XXS", 256, 66, NULL},
               {17, "IQ2_XS", 256, 74, NULL},          {18, "IQ3_XXS", 256, 98, NULL},
               {20, "IQ4_NL", 32, 18, widen_iq4_nl},   {22, "IQ2_S", 256, 82, NULL},
               {23, "IQ4_XS", 256, 136, widen_iq4_xs}, {30, "BF16", 1, 2, widen_bfloat16},
               {42, "Q2_0", 64, 18, widen_q2_0}};

static const struct format *find_format(int64_t id)
{
    for (size_t i = 0; i < OX_COUNT(formats); i++)
        if (formats[i].id == id)
            return &formats[i];
    return NULL;
}

/* ---- The operator ------------------------------------------------------------------------------------------------- */

struct gathering {
    const struct format *format;
    const struct ox_tensor *table, *indices;
    struct ox_tensor *y;
    size_t rows, row_bytes, blocks; /* of a row */
};

static void gather_task(void *arg, size_t task)
{
    enum { MOST = 256 };
    const struct gathering *g = arg;
    const struct format *f = g->format;
    const int64_t index = ox_tensor_get_int(g->indices, task);
    const size_t row = index < 0 || (uint64_t)index >= g->rows ? 0 : (size_t)index;
    const uint8_t *from = (const uint8_t *)g->table->data + row * g->row_bytes;
    double values[MOST];
    for (size_t block = 0; block < g->blocks; block++) {
        f->widen(from + block * f->bytes, values);
        ox_real_store(g->y, (task * g->blocks + block) * f->elements, f->elements, values);
    }
}

static enum ox_status read_format(struct ox_run *r, struct gathering *g, struct ox_error *err)
{
    const int64_t id = ox_run_int(r, "packed_type", -1), width = ox_run_int(r, "K", 0);
    const struct format *f = find_format(id);
    if (!f)
        return ox_run_fail(r, err, OX_INPUT, "packed_type %" PRId64 " is no format of rows", id);
    if (!f->widen)
        return ox_run_fail(r, err, OX_UNSUPPORTED, "packed_type %" PRId64 " (%s) is not served", id,
                           f->name);
    if (width < 1 || (uint64_t)width % f->elements)
        return ox_run_fail(r, err, OX_INPUT, "K is %" PRId64 ", and blocks of %s have %zu elements",
                           width, f->name, f->elements);
    g->format = f;
    g->blocks = (size_t)width / f->elements;
    if (OX_MUL_OVERFLOWS(g->blocks, f->bytes, &g->row_bytes))
        return ox_run_fail(r, err, OX_LIMIT, "K is %" PRId64, width);
    return OX_OK;
}

static enum ox_status run_gather_packed(struct ox_run *r, struct ox_error *err)
{
    struct gathering g = {.table = ox_run_in(r, 0), .indices = ox_run_in(r, 1)};
    const struct ox_tensor *table = g.table, *indices = g.indices;
    const int64_t dtype = ox_run_int(r, "output_dtype", OX_BFLOAT16);
    int64_t dims[OX_MOST_RANK];
    OX_TRY(read_format(r, &g, err));
    if (dtype != OX_BFLOAT16 && dtype != OX_FLOAT16 && dtype != OX_FLOAT32)
        return ox_run_fail(r, err, OX_INPUT, "output_dtype is %" PRId64, dtype);
    if (table->rank != 2 || (size_t)table->dims[1] != g.row_bytes)
        return ox_run_fail(r, err, OX_INPUT, "data is not [rows, %zu]", g.row_bytes);
    g.rows = (size_t)table->dims[0];
    if (!g.rows && indices->n)
        return ox_run_fail(r, err, OX_INPUT, "data has no rows");
    if (indices->rank >= OX_MOST_RANK)
        return ox_run_fail(r, err, OX_LIMIT, "indices have rank %u", indices->rank);
    memcpy(dims, indices->dims, indices->rank * sizeof *dims);
    dims[indices->rank] = ox_run_int(r, "K", 0);
    OX_TRY(ox_run_out(r, 0, (enum ox_dtype)dtype, indices->rank + 1, dims, &g.y, err));
    ox_parallel(r->env, indices->n, gather_task, &g);
    return ox_env_poll(r->env, err);
}

static void infer_gather_packed(struct ox_infer *c)
{
    unsigned rank;
    const struct ox_expr *const *in;
    const enum ox_dtype dtype = ox_rule_dtype_attr(c, "output_dtype");
    const int64_t width = ox_infer_int_attr(c, "K", 0);
    if (dtype == OX_FLOAT32 || ox_dtype_is_half(dtype))
        ox_infer_set_dtype(c, 0, dtype);
    else if (dtype != OX_UNDEFINED)
        ox_infer_conflict(c, "output_dtype is %s", ox_dtype_name(dtype));
    if (width < 1)
        ox_infer_conflict(c, "K is %" PRId64, width);
    ox_rule_rank(c, 0, 2);
    if (!ox_infer_shape(c, 1, &rank, &in))
        return;
    const struct ox_expr **dims = ox_infer_dims(c, rank + 1);
    if (!dims)
        return;
    for (unsigned i = 0; i < rank; i++)
        dims[i] = in[i];
    dims[rank] = ox_infer_num(c, width);
    ox_infer_set_shape(c, 0, rank + 1, dims);
}

const struct ox_op ox_ops_gather_packed[] = {{"com.microsoft", "GatherPacked", 1, OX_OP_HALF,
                                              .infer = infer_gather_packed,
                                              .run = run_gather_packed},
                                             {0}};
