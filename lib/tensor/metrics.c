/* The meter: pairs of values in, figures and a verdict out. */
#include "tensor/metrics.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "common/env.h"
#include "common/threads.h"
#include "tensor/quantiles.h"

enum { MOST_NESTING = 64, GROUP = 1 << 16 };

/* Of one pair, or of all pairs so far. */
struct gathered {
    bool agree;
    char reason[512], note[128];
    enum ox_dtype a_dtype, b_dtype;
    uint64_t n_samples, n_elements;
    struct ox_sums sums;
    struct ox_worst worst;
    bool no_numbers; /* strings and the like: figures mean nothing */
};

struct ox_meter {
    struct ox_env *env;
    struct ox_metrics_options options;
    struct gathered all, last;
    struct ox_detail *detail[2];     /* of all, of the last; NULL: not asked */
    struct ox_strbuf where;          /* within the pair: "[2][0]" */
    struct ox_quantiles differences; /* of the last, where the verdict is by them */
};

static const struct gathered nothing = {.agree = true};

static void gathered_init(struct gathered *g)
{
    *g = nothing;
    ox_sums_init(&g->sums);
}

enum ox_status ox_meter_new(struct ox_meter **out, struct ox_env *env,
                            const struct ox_metrics_options *options, struct ox_error *err)
{
    struct ox_meter *meter = calloc(1, sizeof *meter);
    if (!meter)
        return ox_no_memory(err);
    meter->env = env;
    meter->options = *options;
    gathered_init(&meter->all);
    gathered_init(&meter->last);
    ox_strbuf_init(&meter->where);
    for (size_t i = 0; i < 2 && options->detail; i++) {
        meter->detail[i] = calloc(1, sizeof *meter->detail[i]);
        if (!meter->detail[i]) {
            ox_meter_release(meter);
            return ox_no_memory(err);
        }
    }
    *out = meter;
    return OX_OK;
}

void ox_meter_release(struct ox_meter *meter)
{
    if (!meter)
        return;
    free(meter->detail[0]);
    free(meter->detail[1]);
    ox_strbuf_release(&meter->where);
    ox_quantiles_release(&meter->differences);
    free(meter);
}

/* ---- Disagreement in words ----------------------------------------------------------------------------------------- */

static void disagree(struct ox_meter *m, const char *format, ...) OX_PRINTF(2, 3);

static void disagree(struct ox_meter *m, const char *format, ...)
{
    struct gathered *g = &m->last;
    if (!g->agree)
        return;
    g->agree = false;
    int n = snprintf(g->reason, sizeof g->reason, "%.200s%s", ox_strbuf_text(&m->where, NULL),
                     m->where.len ? ": " : "");
    size_t at = n > 0 ? (size_t)n : 0;
    va_list args;
    va_start(args, format);
    vsnprintf(g->reason + at, sizeof g->reason - at, format, args);
    va_end(args);
}

static void print_numbers(char *text, size_t size, const int64_t *numbers, unsigned n)
{
    size_t at = (size_t)snprintf(text, size, "[");
    for (unsigned k = 0; k < n && at < size; k++)
        at += (size_t)snprintf(text + at, size - at, "%s%lld", k ? "," : "", (long long)numbers[k]);
    if (at < size)
        snprintf(text + at, size - at, "]");
}

static void element_text(const struct ox_tensor *t, size_t i, char text[OX_VALUE_TEXT])
{
    static const char hex[] = "0123456789ABCDEF";
    if (t->dtype == OX_STRING) {
        const struct ox_str *s = &((const struct ox_str *)t->data)[i];
        size_t at = 0;
        for (size_t k = 0; k < s->n && at + 8 < OX_VALUE_TEXT; k++) {
            unsigned char c = (unsigned char)s->p[k];
            if (c >= 0x20 && c != 0x7F) {
                text[at++] = (char)c;
            } else {
                text[at++] = '\\';
                text[at++] = 'x';
                text[at++] = hex[c >> 4];
                text[at++] = hex[c & 15];
            }
        }
        text[at] = '\0';
    } else if (t->dtype == OX_COMPLEX64) {
        const float *c = (const float *)t->data + 2 * i;
        snprintf(text, OX_VALUE_TEXT, "%.9g%+.9gj", (double)c[0], (double)c[1]);
    } else if (t->dtype == OX_COMPLEX128) {
        const double *c = (const double *)t->data + 2 * i;
        snprintf(text, OX_VALUE_TEXT, "%.17g%+.17gj", c[0], c[1]);
    } else if (t->dtype == OX_UINT64) {
        snprintf(text, OX_VALUE_TEXT, "%llu", (unsigned long long)((const uint64_t *)t->data)[i]);
    } else if (ox_dtype_is_float(t->dtype) && isnan(ox_tensor_get_double(t, i))) {
        snprintf(text, OX_VALUE_TEXT, "nan"); /* whatever its sign */
    } else if (ox_dtype_is_float(t->dtype)) {
        snprintf(text, OX_VALUE_TEXT, t->dtype == OX_FLOAT64 ? "%.17g" : "%.9g",
                 ox_tensor_get_double(t, i));
    } else {
        snprintf(text, OX_VALUE_TEXT, "%lld", (long long)ox_tensor_get_int(t, i));
    }
}

/* ---- The worst element --------------------------------------------------------------------------------------------- */

static void set_worst(struct ox_meter *m, const struct ox_tensor *a, const struct ox_tensor *b,
                      size_t i, bool bad)
{
    struct ox_worst *w = &m->last.worst;
    size_t rest = i;
    *w = (struct ox_worst){.found = true, .bad = bad, .rank = a->rank, .sample = m->all.n_samples};
    for (unsigned k = a->rank; k-- > 0;) {
        if (k < OX_WORST_RANK)
            w->index[k] = (int64_t)(rest % (size_t)a->dims[k]);
        rest /= (size_t)a->dims[k];
    }
    if (w->rank > OX_WORST_RANK)
        w->rank = OX_WORST_RANK;
    bool numbers = a->dtype != OX_STRING && b->dtype != OX_STRING;
    w->a = numbers ? ox_tensor_get_double(a, i) : NAN;
    w->b = numbers ? ox_tensor_get_double(b, i) : NAN;
    element_text(a, i, w->a_text);
    element_text(b, i, w->b_text);
}

static void disagree_at_worst(struct ox_meter *m)
{
    const struct ox_worst *w = &m->last.worst;
    char index[OX_WORST_RANK * 21 + 2];
    print_numbers(index, sizeof index, w->index, w->rank);
    if (isnan(w->a) && isnan(w->b) && strcmp(w->a_text, w->b_text) == 0)
        disagree(m, "element %s is %s on both sides, which does not agree with itself", index,
                 w->a_text);
    else
        disagree(m, "element %s is %s, expected %s", index, w->a_text, w->b_text);
}

/* ---- Tensors ------------------------------------------------------------------------------------------------------- */

struct pass {
    struct ox_meter *meter;
    const struct ox_tensor *a, *b;
    struct ox_sums *parts;
};

static void sum_group(void *arg, size_t i)
{
    struct pass *pass = arg;
    size_t begin = i * GROUP, end = begin + GROUP;
    ox_sums_init(&pass->parts[i]);
    ox_sums_add(&pass->parts[i], &pass->meter->options, pass->a, pass->b, begin,
                end < pass->a->n ? end : pass->a->n);
}

/* In groups, merged in order: the same figures for any number of threads. */
static bool sum_tensors(struct ox_meter *m, const struct ox_tensor *a, const struct ox_tensor *b,
                        struct ox_sums *sums)
{
    size_t n = a->n / GROUP + (a->n % GROUP != 0);
    struct pass pass = {m, a, b, n > 1 ? calloc(n, sizeof *pass.parts) : sums};
    if (!pass.parts)
        return false;
    ox_sums_init(sums);
    if (n == 1)
        sum_group(&pass, 0);
    if (n < 2)
        return true;
    ox_parallel(m->env, n, sum_group, &pass);
    for (size_t i = 0; i < n; i++)
        ox_sums_merge(sums, &pass.parts[i]);
    free(pass.parts);
    return true;
}

static bool by_quantile(const struct ox_meter *m)
{
    return m->options.agreement == OX_AGREE_MEDIAN || m->options.agreement == OX_AGREE_QUANTILE;
}

static enum ox_status compare_numbers(struct ox_meter *m, const struct ox_tensor *a,
                                      const struct ox_tensor *b, struct ox_error *err)
{
    struct ox_sums sums;
    double old_abs = m->last.sums.max_abs;
    if (!sum_tensors(m, a, b, &sums))
        return ox_fail(err, OX_NO_MEMORY, "out of memory while comparing");
    if (sums.bad != SIZE_MAX && !m->last.worst.bad)
        set_worst(m, a, b, sums.bad, true);
    else if (sums.worst != SIZE_MAX && !m->last.worst.bad && sums.max_abs > old_abs)
        set_worst(m, a, b, sums.worst, false);
    bool complex = a->dtype == OX_COMPLEX64 || a->dtype == OX_COMPLEX128 ||
                   b->dtype == OX_COMPLEX64 || b->dtype == OX_COMPLEX128;
    bool by_element = m->options.agreement == OX_AGREE_ALLCLOSE ||
                      m->options.agreement == OX_AGREE_ELEMENT || sums.bad != SIZE_MAX ||
                      (by_quantile(m) && complex);
    if (by_quantile(m) && !by_element && !ox_quantiles_add(&m->differences, a, b))
        return ox_fail(err, OX_NO_MEMORY, "out of memory while comparing");
    ox_sums_merge(&m->last.sums, &sums);
    if (by_element && sums.n_mismatched && m->last.worst.found)
        disagree_at_worst(m);
    if (m->options.detail && !complex)
        ox_detail_add(m->detail[1], a, b);
    return OX_OK;
}

static void compare_strings(struct ox_meter *m, const struct ox_tensor *a,
                            const struct ox_tensor *b)
{
    const struct ox_str *x = a->data, *y = b->data;
    m->last.no_numbers = true;
    for (size_t i = 0; i < a->n; i++) {
        if (x[i].n == y[i].n && (x[i].n == 0 || memcmp(x[i].p, y[i].p, x[i].n) == 0))
            continue;
        m->last.sums.n_mismatched++;
        if (!m->last.worst.found) {
            set_worst(m, a, b, i, false);
            disagree_at_worst(m);
        }
    }
}

/* True and false are no quantities: a tolerance of 1 must not make them equal. */
static void judge_bools(struct ox_meter *m, const struct ox_tensor *a, const struct ox_tensor *b)
{
    uint64_t differ = 0;
    const uint8_t *x = a->data, *y = b->data;
    for (size_t i = 0; i < a->n; i++)
        differ += x[i] != y[i];
    if (!differ)
        return;
    m->last.sums.n_mismatched = differ;
    disagree_at_worst(m);
}

static enum ox_status compare_tensors(struct ox_meter *m, const struct ox_tensor *a,
                                      const struct ox_tensor *b, struct ox_error *err)
{
    struct gathered *g = &m->last;
    g->a_dtype = a->dtype;
    g->b_dtype = b->dtype;
    if (a->rank != b->rank ||
        (a->rank && memcmp(a->dims, b->dims, a->rank * sizeof *a->dims) != 0)) {
        char is[160], should[160];
        print_numbers(is, sizeof is, a->dims, a->rank);
        print_numbers(should, sizeof should, b->dims, b->rank);
        disagree(m, "the shape is %s, expected %s", is, should);
        return OX_OK;
    }
    if ((a->dtype == OX_STRING) != (b->dtype == OX_STRING)) {
        disagree(m, "the element type is %s, expected %s", ox_dtype_name(a->dtype),
                 ox_dtype_name(b->dtype));
        return OX_OK;
    }
    if (a->dtype != b->dtype && !g->note[0])
        snprintf(g->note, sizeof g->note, "element types differ: %s against %s",
                 ox_dtype_name(a->dtype), ox_dtype_name(b->dtype));
    g->n_elements += a->n;
    if (a->dtype == OX_STRING) {
        compare_strings(m, a, b);
        return OX_OK;
    }
    OX_TRY(compare_numbers(m, a, b, err));
    if (a->dtype == OX_BOOL && b->dtype == OX_BOOL)
        judge_bools(m, a, b);
    return OX_OK;
}

static enum ox_status compare_data(struct ox_meter *m, const struct ox_datum *a,
                                   const struct ox_datum *b, unsigned depth, struct ox_error *err)
{
    static const char *const kinds[] = {"tensor", "sparse tensor", "sequence", "optional", "map"};
    if (a->kind != b->kind || depth > MOST_NESTING) {
        if (a->kind != b->kind)
            disagree(m, "is a %s, expected a %s", kinds[a->kind], kinds[b->kind]);
        else
            disagree(m, "is nested too deeply to compare");
        return OX_OK;
    }
    if (a->kind == OX_DATUM_SPARSE &&
        (a->rank != b->rank || memcmp(a->dims, b->dims, a->rank * sizeof *a->dims) != 0)) {
        disagree(m, "the dense shape differs");
        return OX_OK;
    }
    if (a->indices && b->indices)
        OX_TRY(compare_tensors(m, a->indices, b->indices, err));
    if (a->tensor && b->tensor)
        OX_TRY(compare_tensors(m, a->tensor, b->tensor, err));
    if (a->n_items != b->n_items) {
        disagree(m, "has %zu elements, expected %zu", a->n_items, b->n_items);
        return OX_OK;
    }
    size_t len = m->where.len;
    for (size_t i = 0; i < a->n_items; i++) {
        ox_strbuf_printf(&m->where, "[%zu]", i);
        OX_TRY(compare_data(m, a->items[i], b->items[i], depth + 1, err));
        if (m->where.data)
            m->where.data[m->where.len = len] = '\0';
    }
    return OX_OK;
}

/* ---- Verdict ------------------------------------------------------------------------------------------------------- */

/* Polygraphy's forms over all elements of a pair. */
static void judge_statistic(struct ox_meter *m)
{
    const struct ox_sums *s = &m->last.sums;
    const struct ox_tolerance *t = &m->options.tolerance;
    bool mean = m->options.agreement == OX_AGREE_MEAN;
    if ((m->options.agreement != OX_AGREE_MAX && !mean) || !s->n)
        return;
    double abs = mean ? s->abs / (double)s->n : s->max_abs;
    double rel = mean ? (s->n_rel ? s->rel / (double)s->n_rel : 0) : s->max_rel;
    if (abs > t->atol && (rel > t->rtol || s->n_rel < s->n))
        disagree(m, "the %s difference is %.6g absolute, %.6g relative", mean ? "mean" : "largest",
                 abs, rel);
}

static void judge_quantile(struct ox_meter *m)
{
    struct ox_quantiles *q = &m->differences;
    const struct ox_tolerance *t = &m->options.tolerance;
    const bool median = m->options.agreement == OX_AGREE_MEDIAN;
    const double share = median ? 0.5 : m->options.quantile;
    if (!q->n)
        return;
    const double abs = ox_quantile(q->abs, q->n, share), rel = ox_quantile(q->rel, q->n, share);
    if (abs > t->atol && rel > t->rtol && median)
        disagree(m, "the median difference is %.6g absolute, %.6g relative", abs, rel);
    else if (abs > t->atol && rel > t->rtol)
        disagree(m, "the %g quantile of differences is %.6g absolute, %.6g relative", share, abs,
                 rel);
    ox_quantiles_release(q);
}

static void merge(struct ox_meter *m)
{
    struct gathered *g = &m->all, *l = &m->last;
    bool worse = l->worst.found && !g->worst.bad &&
                 (l->worst.bad || !g->worst.found || l->sums.max_abs > g->sums.max_abs);
    if (worse)
        g->worst = l->worst;
    if (g->agree && !l->agree && g->n_samples)
        snprintf(g->reason, sizeof g->reason, "sample %llu: %.480s",
                 (unsigned long long)g->n_samples, l->reason);
    else if (g->agree && !l->agree)
        memcpy(g->reason, l->reason, sizeof g->reason);
    if (!g->note[0])
        memcpy(g->note, l->note, sizeof g->note);
    g->agree &= l->agree;
    g->a_dtype = l->a_dtype ? l->a_dtype : g->a_dtype;
    g->b_dtype = l->b_dtype ? l->b_dtype : g->b_dtype;
    g->n_samples++;
    g->n_elements += l->n_elements;
    g->no_numbers |= l->no_numbers;
    ox_sums_merge(&g->sums, &l->sums);
    if (m->options.detail)
        ox_detail_merge(m->detail[0], m->detail[1]);
}

enum ox_status ox_meter_add(struct ox_meter *meter, const struct ox_datum *a,
                            const struct ox_datum *b, struct ox_error *err)
{
    gathered_init(&meter->last);
    meter->last.n_samples = 1;
    if (meter->options.detail)
        memset(meter->detail[1], 0, sizeof *meter->detail[1]);
    ox_strbuf_clear(&meter->where);
    if (a && b)
        OX_TRY(compare_data(meter, a, b, 0, err));
    else if (a || b)
        disagree(meter, a ? "only A has it" : "only B has it");
    if (meter->where.failed)
        return ox_fail(err, OX_NO_MEMORY, "out of memory while comparing");
    judge_statistic(meter);
    judge_quantile(meter);
    merge(meter);
    return OX_OK;
}

/* ---- Figures ------------------------------------------------------------------------------------------------------- */

static void read_sums(const struct gathered *g, struct ox_metrics *out)
{
    const struct ox_sums *s = &g->sums;
    double none = s->nan_difference ? NAN : s->inf_difference ? INFINITY : 0;
    bool broken = s->nan_difference || s->inf_difference;
    double n = (double)s->n;
    if (g->no_numbers || (!s->n && !broken && !g->n_elements))
        return;
    out->max_abs = broken ? none : s->max_abs;
    out->mean_abs = broken ? none : s->n ? s->abs / n : 0;
    out->max_rel = broken ? none : s->max_rel;
    out->mean_rel = broken ? none : s->n_rel ? s->rel / (double)s->n_rel : 0;
    out->rmse = broken ? none : s->n ? sqrt(s->squares / n) : 0;
    if (s->n) {
        out->a_min = s->a_min;
        out->a_max = s->a_max;
        out->b_min = s->b_min;
        out->b_max = s->b_max;
    }
    if (broken)
        return;
    out->cosine = s->aa > 0 && s->bb > 0     ? s->ab / (sqrt(s->aa) * sqrt(s->bb))
                  : s->aa == 0 && s->bb == 0 ? 1
                                             : 0;
    out->sqnr_db = s->squares > 0 ? 10 * log10(s->bb / s->squares) : INFINITY;
    double peak = fmax(fabs(s->b_min), fabs(s->b_max));
    out->psnr_db = s->squares > 0 ? 20 * log10(peak / out->rmse) : INFINITY;
}

static void read_detail(const struct ox_detail *d, struct ox_metrics *out)
{
    out->ulp_p50 = ox_detail_ulp(d, 0.5);
    out->ulp_p90 = ox_detail_ulp(d, 0.9);
    out->ulp_p99 = ox_detail_ulp(d, 0.99);
    out->ulp_max = d->n_ulp ? (double)d->ulp_max : NAN;
    out->top1 = d->rows ? (double)d->top1 / (double)d->rows : NAN;
    out->top5 = d->rows ? (double)d->top5_same / (double)d->top5_all : NAN;
    memcpy(out->histogram, d->histogram, sizeof out->histogram);
}

static void read_gathered(const struct gathered *g, const struct ox_detail *detail,
                          struct ox_metrics *out)
{
    *out = (struct ox_metrics){.agree = g->agree,
                               .a_dtype = g->a_dtype,
                               .b_dtype = g->b_dtype,
                               .n_samples = g->n_samples,
                               .n_elements = g->n_elements,
                               .n_mismatched = g->sums.n_mismatched,
                               .a_nan = g->sums.a_nan,
                               .b_nan = g->sums.b_nan,
                               .a_inf = g->sums.a_inf,
                               .b_inf = g->sums.b_inf,
                               .a_min = NAN,
                               .a_max = NAN,
                               .b_min = NAN,
                               .b_max = NAN,
                               .worst = g->worst};
#define CLEAR(field, name, unit) out->field = NAN;
    OX_METRIC_LIST(CLEAR)
#undef CLEAR
    memcpy(out->reason, g->reason, sizeof out->reason);
    memcpy(out->note, g->note, sizeof out->note);
    out->mismatched =
        g->n_elements ? (double)g->sums.n_mismatched / (double)g->n_elements : (g->agree ? 0 : NAN);
    read_sums(g, out);
    if (detail)
        read_detail(detail, out);
}

void ox_meter_read(const struct ox_meter *meter, struct ox_metrics *metrics)
{
    read_gathered(&meter->all, meter->detail[0], metrics);
}

void ox_meter_read_last(const struct ox_meter *meter, struct ox_metrics *metrics)
{
    read_gathered(&meter->last, meter->detail[1], metrics);
}

static const struct {
    const char *name;
    size_t offset;
} metrics_table[] = {
#define ROW(field, name, unit) {name, offsetof(struct ox_metrics, field)},
    OX_METRIC_LIST(ROW)
#undef ROW
};

bool ox_metrics_find(const struct ox_metrics *metrics, const char *name, double *value)
{
    if (strcmp(name, "sqnr") == 0)
        name = "sqnr_db";
    else if (strcmp(name, "psnr") == 0)
        name = "psnr_db";
    for (size_t i = 0; i < OX_COUNT(metrics_table); i++)
        if (strcmp(name, metrics_table[i].name) == 0) {
            memcpy(value, (const char *)metrics + metrics_table[i].offset, sizeof *value);
            return true;
        }
    return false;
}

const char *ox_metric_name(size_t i)
{
    return i < OX_COUNT(metrics_table) ? metrics_table[i].name : NULL;
}
