/* Two values held against each other, element for element. */
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "common/error.h"
#include "tensor/tensor.h"

/* A product in bfloat16 is known to two or three digits only; onnx's own runner allows as much. */
static const double BFLOAT16_RTOL = 0x1p-6;

enum { MOST_NESTING = 64 };

struct comparing {
    const struct ox_tolerance *tolerance;
    struct ox_comparison *result;
    struct ox_strbuf where;
    double squares, expected_squares; /* of floats: of differences, of what is expected */
    bool has_reals, no_noise;
};

static void disagree(struct comparing *c, const char *format, ...) OX_PRINTF(2, 3);

static void disagree(struct comparing *c, const char *format, ...)
{
    struct ox_comparison *result = c->result;
    if (!result->agree)
        return;
    result->agree = false;
    int n = snprintf(result->reason, sizeof result->reason, "%s%s", ox_strbuf_text(&c->where, NULL),
                     c->where.len ? ": " : "");
    size_t at = n < 0                               ? 0
                : (size_t)n < sizeof result->reason ? (size_t)n
                                                    : sizeof result->reason - 1;
    va_list args;
    va_start(args, format);
    vsnprintf(result->reason + at, sizeof result->reason - at, format, args);
    va_end(args);
}

/* "[1,0,7]" of the element with that place in row-major order. */
static void print_index(const struct ox_tensor *t, size_t i, char *text, size_t n)
{
    int64_t index[64];
    unsigned rank = t->rank < OX_COUNT(index) ? t->rank : (unsigned)OX_COUNT(index);
    for (unsigned k = rank; k-- > 0;) {
        index[k] = (int64_t)(i % (size_t)t->dims[k]);
        i /= (size_t)t->dims[k];
    }
    size_t at = 0;
    for (unsigned k = 0; k < rank && at < n; k++)
        at += (size_t)snprintf(text + at, n - at, "%s%lld", k ? "," : "", (long long)index[k]);
    if (!rank)
        *text = '\0';
}

static void mismatch(struct comparing *c, const struct ox_tensor *a, size_t i, double x, double y)
{
    char index[256];
    c->result->n_mismatched++;
    if (!c->result->agree)
        return;
    print_index(a, i, index, sizeof index);
    disagree(c, "element [%s] is %.9g, expected %.9g", index, x, y);
}

static void compare_reals(struct comparing *c, const struct ox_tensor *a, const struct ox_tensor *b)
{
    double rtol = c->tolerance->rtol, atol = c->tolerance->atol;
    if (a->dtype == OX_BFLOAT16 && rtol < BFLOAT16_RTOL)
        rtol = BFLOAT16_RTOL;
    for (size_t i = 0; i < a->n; i++) {
        double x = ox_tensor_get_double(a, i), y = ox_tensor_get_double(b, i);
        if (isnan(x) || isnan(y)) {
            if (!(isnan(x) && isnan(y) && c->tolerance->nan_agrees)) {
                c->no_noise = true;
                mismatch(c, a, i, x, y);
            }
            continue;
        }
        double far = fabs(x - y);
        if (isfinite(y)) {
            c->expected_squares += y * y;
            c->result->largest = fmax(c->result->largest, fabs(y));
        }
        if (x == y)
            continue;
        c->no_noise |= isinf(far);
        c->squares += far * far;
        if (far > c->result->max_abs)
            c->result->max_abs = far;
        if (y != 0 && far / fabs(y) > c->result->max_rel)
            c->result->max_rel = far / fabs(y);
        if (!(far <= atol + rtol * fabs(y)) || isinf(x) || isinf(y))
            mismatch(c, a, i, x, y);
    }
}

/* Exactly: 64-bit integers pass what a double holds. */
static void compare_integers(struct comparing *c, const struct ox_tensor *a,
                             const struct ox_tensor *b)
{
    for (size_t i = 0; i < a->n; i++) {
        int64_t x = ox_tensor_get_int(a, i), y = ox_tensor_get_int(b, i);
        if (x == y)
            continue;
        double far = a->dtype == OX_UINT64 ? fabs((double)(uint64_t)x - (double)(uint64_t)y)
                                           : fabs((double)x - (double)y);
        double size = a->dtype == OX_UINT64 ? (double)(uint64_t)y : fabs((double)y);
        if (far > c->result->max_abs)
            c->result->max_abs = far;
        if (y && far / size > c->result->max_rel)
            c->result->max_rel = far / size;
        if (!(far <= c->tolerance->atol + c->tolerance->rtol * size))
            mismatch(c, a, i, (double)x, (double)y);
    }
}

static void compare_complex(struct comparing *c, const struct ox_tensor *a,
                            const struct ox_tensor *b)
{
    for (size_t i = 0; i < a->n; i++) {
        double x[2], y[2];
        for (int k = 0; k < 2; k++) {
            x[k] = a->dtype == OX_COMPLEX64 ? (double)((const float *)a->data)[2 * i + (size_t)k]
                                            : ((const double *)a->data)[2 * i + (size_t)k];
            y[k] = b->dtype == OX_COMPLEX64 ? (double)((const float *)b->data)[2 * i + (size_t)k]
                                            : ((const double *)b->data)[2 * i + (size_t)k];
        }
        double far = hypot(x[0] - y[0], x[1] - y[1]);
        bool both_nan = (isnan(x[0]) || isnan(x[1])) && (isnan(y[0]) || isnan(y[1]));
        if (both_nan && c->tolerance->nan_agrees)
            continue;
        if (far > c->result->max_abs)
            c->result->max_abs = far;
        if (!(far <= c->tolerance->atol + c->tolerance->rtol * hypot(y[0], y[1])))
            mismatch(c, a, i, x[0], y[0]);
    }
}

static void compare_strings(struct comparing *c, const struct ox_tensor *a,
                            const struct ox_tensor *b)
{
    const struct ox_str *x = a->data, *y = b->data;
    for (size_t i = 0; i < a->n; i++) {
        if (x[i].n == y[i].n && (x[i].n == 0 || memcmp(x[i].p, y[i].p, x[i].n) == 0))
            continue;
        char index[256];
        print_index(a, i, index, sizeof index);
        c->result->n_mismatched++;
        disagree(c, "element [%s] is \"%.*s\", expected \"%.*s\"", index,
                 x[i].n < 60 ? (int)x[i].n : 60, x[i].p ? x[i].p : "",
                 y[i].n < 60 ? (int)y[i].n : 60, y[i].p ? y[i].p : "");
    }
}

static void print_dims(const struct ox_tensor *t, char *text, size_t n)
{
    size_t at = (size_t)snprintf(text, n, "[");
    for (unsigned k = 0; k < t->rank && at < n; k++)
        at += (size_t)snprintf(text + at, n - at, "%s%lld", k ? "," : "", (long long)t->dims[k]);
    if (at < n)
        snprintf(text + at, n - at, "]");
}

static void compare_tensors(struct comparing *c, const struct ox_tensor *a,
                            const struct ox_tensor *b)
{
    if (a->dtype != b->dtype) {
        disagree(c, "element type is %s, expected %s", ox_dtype_name(a->dtype),
                 ox_dtype_name(b->dtype));
        return;
    }
    if (a->rank != b->rank ||
        (a->rank && memcmp(a->dims, b->dims, a->rank * sizeof *a->dims) != 0)) {
        char is[256], should[256];
        print_dims(a, is, sizeof is);
        print_dims(b, should, sizeof should);
        disagree(c, "shape is %s, expected %s", is, should);
        return;
    }
    c->result->n_elements += a->n;
    const bool real = ox_dtype_is_float(a->dtype);
    c->has_reals |= real && a->n;
    c->no_noise |= !real;
    if (a->dtype == OX_STRING)
        compare_strings(c, a, b);
    else if (a->dtype == OX_COMPLEX64 || a->dtype == OX_COMPLEX128)
        compare_complex(c, a, b);
    else if (ox_dtype_is_float(a->dtype))
        compare_reals(c, a, b);
    else
        compare_integers(c, a, b);
}

static void compare_data(struct comparing *c, const struct ox_datum *a, const struct ox_datum *b,
                         unsigned depth)
{
    static const char *const kinds[] = {"tensor", "sparse tensor", "sequence", "optional", "map"};
    if (a->kind != b->kind) {
        disagree(c, "is a %s, expected a %s", kinds[a->kind], kinds[b->kind]);
        return;
    }
    if (depth > MOST_NESTING) {
        disagree(c, "nested too deeply to compare");
        return;
    }
    if (a->tensor && b->tensor)
        compare_tensors(c, a->tensor, b->tensor);
    if (a->indices && b->indices)
        compare_tensors(c, a->indices, b->indices);
    if (a->n_items != b->n_items) {
        disagree(c, "has %zu elements, expected %zu", a->n_items, b->n_items);
        return;
    }
    size_t len = c->where.len;
    for (size_t i = 0; i < a->n_items; i++) {
        ox_strbuf_printf(&c->where, "[%zu]", i);
        compare_data(c, a->items[i], b->items[i], depth + 1);
        if (c->where.data)
            c->where.data[c->where.len = len] = '\0';
    }
}

enum ox_status ox_compare(const struct ox_datum *actual, const struct ox_datum *expected,
                          const struct ox_tolerance *tolerance, struct ox_comparison *result,
                          struct ox_error *err)
{
    *result = (struct ox_comparison){.agree = true};
    struct comparing c = {.tolerance = tolerance, .result = result};
    ox_strbuf_init(&c.where);
    compare_data(&c, actual, expected, 0);
    const bool noise = c.has_reals && !c.no_noise;
    result->sqnr_db = !noise           ? NAN
                      : c.squares == 0 ? INFINITY
                                       : 10 * log10(c.expected_squares / c.squares);
    bool failed = c.where.failed;
    ox_strbuf_release(&c.where);
    return failed ? ox_fail(err, OX_NO_MEMORY, "out of memory while comparing") : OX_OK;
}
