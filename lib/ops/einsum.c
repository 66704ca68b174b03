/* Einsum: operands are multiplied from left to right, each time a batch of matrix products, and labels that nothing further needs are
 * summed over. Integers run in 64 bits, which is exact modulo their own size. */
#include <string.h>

#include "ops/infer.h"
#include "ops/product.h"

enum { LETTERS = 52, MOST_RANK = 64, MOST_LABELS = LETTERS + MOST_RANK };

/* ---- The equation ------------------------------------------------------------------------------------------------ */

struct term {
    unsigned n;
    unsigned char label
        [MOST_RANK]; /* letters, then, of what the ellipsis stands for, from the right: LETTERS, LETTERS + 1, ... */
    int ellipsis; /* its place among the letters; -1: none */
};

/* Reads one term and leaves *at on what ends it: ',', '-' or the end. NULL, or what is wrong. */
static const char *read_term(const char **at, struct term *t)
{
    t->n = 0;
    t->ellipsis = -1;
    for (; **at && **at != ',' && **at != '-'; ++*at) {
        char c = **at;
        if (c == ' ')
            continue;
        if (c == '.') {
            if (strncmp(*at, "...", 3) != 0)
                return "dots other than an ellipsis";
            if (t->ellipsis >= 0)
                return "a term with two ellipses";
            t->ellipsis = (int)t->n;
            *at += 2;
            continue;
        }
        bool upper = c >= 'A' && c <= 'Z';
        if (!upper && !(c >= 'a' && c <= 'z'))
            return "a character that is no letter";
        if (t->n == MOST_RANK)
            return "a term of more than 64 labels";
        t->label[t->n++] = (unsigned char)(upper ? c - 'A' : c - 'a' + 26);
    }
    return NULL;
}

/* Puts labels in the place of the ellipsis, so that the term has `rank` of them. */
static bool expand(struct term *t, unsigned rank)
{
    if (rank > MOST_RANK || rank < t->n || (t->ellipsis < 0 && rank != t->n))
        return false;
    unsigned more = rank - t->n, place = t->ellipsis < 0 ? t->n : (unsigned)t->ellipsis;
    memmove(t->label + place + more, t->label + place, t->n - place);
    for (unsigned i = 0; i < more; i++)
        t->label[place + i] = (unsigned char)(LETTERS + more - 1 - i);
    t->n = rank;
    return true;
}

/* The output term: what stands after the arrow, else the ellipsis and each letter that occurs once. uses: of each label in the
 * inputs; most: the longest ellipsis there. */
static const char *read_output(const char *at, const unsigned *uses, unsigned most,
                               struct term *out)
{
    if (*at == '-') {
        if (at[1] != '>')
            return "a '-' without '>'";
        at += 2;
        const char *wrong = read_term(&at, out);
        if (wrong || *at)
            return wrong ? wrong : "more after the output";
        if (!expand(out, out->n + (out->ellipsis < 0 ? 0 : most)))
            return "too many labels in the output";
    } else {
        out->n = 0;
        out->ellipsis = 0;
        for (unsigned label = 0; label < LETTERS; label++)
            if (uses[label] == 1)
                out->label[out->n++] = (unsigned char)label;
        if (!expand(out, out->n + most))
            return "too many labels in the output";
    }
    bool seen[MOST_LABELS] = {false};
    for (unsigned i = 0; i < out->n; i++) {
        if (seen[out->label[i]])
            return "a label twice in the output";
        if (!uses[out->label[i]])
            return "a label in the output that no input has";
        seen[out->label[i]] = true;
    }
    return NULL;
}

/* ---- Shape rule -------------------------------------------------------------------------------------------------- */

static void infer_einsum(struct ox_infer *c)
{
    const char *at = ox_infer_string_attr(c, "equation"), *wrong = at ? NULL : "none";
    const struct ox_expr *size[MOST_LABELS] = {NULL};
    unsigned uses[MOST_LABELS] = {0}, most = 0;
    bool known = true;
    struct term t;
    for (size_t i = 0; !wrong && i < ox_infer_n_in(c); i++) {
        unsigned rank;
        const struct ox_expr *const *dims;
        wrong = read_term(&at, &t);
        if (wrong || (i + 1 < ox_infer_n_in(c) ? *at++ != ',' : *at == ',')) {
            wrong = wrong ? wrong : "not as many terms as inputs";
            break;
        }
        if (!ox_infer_shape(c, i, &rank, &dims)) {
            known = known && t.ellipsis < 0;
            for (unsigned d = 0; d < t.n; d++)
                uses[t.label[d]]++;
            continue;
        }
        if (!expand(&t, rank)) {
            wrong = "a term that does not fit its input's rank";
            break;
        }
        for (unsigned d = 0; d < rank; d++) {
            const struct ox_expr **s = &size[t.label[d]];
            *s = uses[t.label[d]]++ ? ox_infer_broadcast_dim(c, *s, dims[d]) : dims[d];
            if (t.label[d] >= LETTERS && t.label[d] - LETTERS + 1U > most)
                most = t.label[d] - LETTERS + 1U;
        }
    }
    if (!wrong)
        wrong = read_output(at, uses, most, &t);
    if (wrong) {
        ox_infer_conflict(c, "the equation has %s", wrong);
        return;
    }
    const struct ox_expr **dims = known ? ox_infer_dims(c, t.n) : NULL;
    for (unsigned d = 0; dims && d < t.n; d++)
        dims[d] = size[t.label[d]];
    if (dims)
        ox_infer_set_shape(c, 0, t.n, dims);
    else
        ox_infer_unknown(c, 0, "the rank of an input with an ellipsis is not known");
}

/* ---- Kernel ------------------------------------------------------------------------------------------------------ */

/* An operand: sizes and strides of the labels that it has; those that it lacks have stride 0 and present false. */
struct operand {
    const void *data;
    bool present[MOST_LABELS];
    size_t stride[MOST_LABELS];
};

struct einsum {
    size_t size[MOST_LABELS];
    unsigned last[MOST_LABELS]; /* one more than the last term that has the label */
    bool wanted[MOST_LABELS];   /* in the output */
    enum ox_dtype work;         /* float32, float64 or uint64 */
};

struct walk {
    unsigned n;
    size_t size[MOST_LABELS], stride[MOST_LABELS], count;
};

static inline void walk_next(const struct walk *w, size_t *at, size_t *offset)
{
    for (unsigned d = w->n; d-- > 0;) {
        *offset += w->stride[d];
        if (++at[d] < w->size[d])
            return;
        *offset -= w->stride[d] * w->size[d];
        at[d] = 0;
    }
}

#define T float
#define NAME(x) x##_f32
#include "ops/einsum_tmpl.h"
#undef T
#undef NAME
#define T double
#define NAME(x) x##_f64
#include "ops/einsum_tmpl.h"
#undef T
#undef NAME
#define T uint64_t
#define NAME(x) x##_u64
#include "ops/einsum_tmpl.h"

static bool walk_add(struct walk *w, const struct einsum *e, const struct operand *op,
                     unsigned label)
{
    w->size[w->n] = e->size[label];
    w->stride[w->n++] = op->stride[label];
    return !OX_MUL_OVERFLOWS(w->count, e->size[label], &w->count);
}

/* The operand as a contiguous array over `labels`, summed over its others. */
static enum ox_status gather(struct ox_run *r, const struct einsum *e, const struct operand *op,
                             const unsigned char *labels, unsigned n, void *out, void **result,
                             struct ox_error *err)
{
    struct walk outer = {.count = 1}, inner = {.count = 1};
    bool ordered[MOST_LABELS] = {false}, fits = true;
    for (unsigned i = 0; i < n; i++) {
        ordered[labels[i]] = true;
        fits = fits && walk_add(&outer, e, op, labels[i]);
    }
    for (unsigned label = 0; label < MOST_LABELS; label++)
        if (op->present[label] && !ordered[label])
            fits = fits && walk_add(&inner, e, op, label);
    size_t bytes;
    if (!fits || OX_MUL_OVERFLOWS(outer.count, sizeof(uint64_t), &bytes))
        return ox_run_fail(r, err, OX_LIMIT, "an intermediate product is too large");
    if (!out)
        out = ox_run_scratch(r, outer.count, ox_dtype_size(e->work), err);
    if (!out)
        return OX_NO_MEMORY;
    if (e->work == OX_FLOAT32)
        gather_f32(&outer, &inner, op->data, out);
    else if (e->work == OX_FLOAT64)
        gather_f64(&outer, &inner, op->data, out);
    else
        gather_u64(&outer, &inner, op->data, out);
    *result = out;
    return OX_OK;
}

static size_t set_strides(const struct einsum *e, struct operand *op, const unsigned char *labels,
                          unsigned n)
{
    size_t pitch = 1;
    memset(op->present, 0, sizeof op->present);
    memset(op->stride, 0, sizeof op->stride);
    for (unsigned i = n; i-- > 0;) {
        op->present[labels[i]] = true;
        op->stride[labels[i]] = pitch;
        pitch *= e->size[labels[i]];
    }
    return pitch;
}

struct label_list {
    unsigned n;
    size_t count;
    unsigned char label[MOST_LABELS];
};

static void list_add(const struct einsum *e, struct label_list *list, unsigned label)
{
    list->label[list->n++] = (unsigned char)label;
    if (OX_MUL_OVERFLOWS(list->count, e->size[label], &list->count))
        list->count = SIZE_MAX;
}

static void list_join(struct label_list *to, const struct label_list *more)
{
    memcpy(to->label + to->n, more->label, more->n);
    to->n += more->n;
}

/* a becomes the product of a and b, over the labels that the output or a term from `next` on needs. */
static enum ox_status contract(struct ox_run *r, const struct einsum *e, struct operand *a,
                               const struct operand *b, unsigned next, struct ox_error *err)
{
    struct label_list batch = {.count = 1}, rows = batch, cols = batch, inner = batch;
    for (unsigned label = 0; label < MOST_LABELS; label++) {
        bool keep = e->wanted[label] || e->last[label] > next;
        if (a->present[label] && b->present[label])
            list_add(e, keep ? &batch : &inner, label);
        else if (keep && (a->present[label] || b->present[label]))
            list_add(e, a->present[label] ? &rows : &cols, label);
    }
    struct label_list left = batch, right = batch, result = batch;
    list_join(&left, &rows);
    list_join(&left, &inner);
    list_join(&right, &inner);
    list_join(&right, &cols);
    list_join(&result, &rows);
    list_join(&result, &cols);
    void *x, *y;
    OX_TRY(gather(r, e, a, left.label, left.n, NULL, &x, err));
    OX_TRY(gather(r, e, b, right.label, right.n, NULL, &y, err));
    size_t n = batch.count, m, all;
    if (OX_MUL_OVERFLOWS(rows.count, cols.count, &m) || OX_MUL_OVERFLOWS(n, m, &all))
        return ox_run_fail(r, err, OX_LIMIT, "an intermediate product is too large");
    void *out = ox_run_scratch(r, all, ox_dtype_size(e->work), err);
    size_t *at = ox_run_scratch(r, n, 3 * sizeof *at, err);
    if (!out || !at)
        return OX_NO_MEMORY;
    for (size_t i = 0; i < n; i++) {
        at[i] = i * rows.count * inner.count;
        at[n + i] = i * inner.count * cols.count;
        at[2 * n + i] = i * m;
    }
    struct ox_product p = {.dtype = e->work,
                           .m = rows.count,
                           .n = cols.count,
                           .k = inner.count,
                           .a = x,
                           .a_row = inner.count,
                           .a_col = 1,
                           .b = y,
                           .b_row = cols.count,
                           .b_col = 1,
                           .c = out,
                           .ldc = cols.count,
                           .batches = n,
                           .a_at = at,
                           .b_at = at + n,
                           .c_at = at + 2 * n};
    OX_TRY(ox_product_run(r, &p, err));
    a->data = out;
    set_strides(e, a, result.label, result.n);
    return OX_OK;
}

/* Sizes of all labels, from all inputs; those of size 1 give way. */
static enum ox_status measure(struct ox_run *r, const char *equation, struct einsum *e,
                              struct term *terms, struct term *out, struct ox_error *err)
{
    unsigned uses[MOST_LABELS] = {0}, most = 0;
    const char *at = equation, *wrong = NULL;
    for (unsigned label = 0; label < MOST_LABELS; label++)
        e->size[label] = 1;
    for (size_t i = 0; i < r->n_in; i++) {
        const struct ox_tensor *x = ox_run_in(r, i);
        struct term *t = &terms[i];
        if (!x)
            return ox_run_fail(r, err, OX_INPUT, "input %zu is missing", i);
        wrong = read_term(&at, t);
        if (!wrong && (i + 1 < r->n_in ? *at++ != ',' : *at == ','))
            wrong = "not as many terms as inputs";
        if (!wrong && !expand(t, x->rank))
            wrong = "a term that does not fit its input's rank";
        if (wrong)
            return ox_run_fail(r, err, OX_INPUT, "equation '%.200s', input %zu: %s", equation, i,
                               wrong);
        for (unsigned d = 0; d < x->rank; d++) {
            unsigned label = t->label[d];
            size_t have = e->size[label], own = (size_t)x->dims[d];
            if (uses[label]++ && have != own && have != 1 && own != 1)
                return ox_run_fail(r, err, OX_INPUT,
                                   "equation '%.200s': axis %u of input %zu is %zu, the same label "
                                   "was %zu before",
                                   equation, d, i, own, have);
            e->size[label] = own == 1 ? have : own;
            e->last[label] = (unsigned)i + 1;
            if (label >= LETTERS && label - LETTERS + 1 > most)
                most = label - LETTERS + 1;
        }
    }
    wrong = read_output(at, uses, most, out);
    if (wrong)
        return ox_run_fail(r, err, OX_INPUT, "equation '%.200s' has %s", equation, wrong);
    for (unsigned i = 0; i < out->n; i++)
        e->wanted[out->label[i]] = true;
    return OX_OK;
}

/* Input i as an operand: labels that stand twice take the diagonal, axes of size 1 fall away. */
static enum ox_status load(struct ox_run *r, const struct einsum *e, size_t i, const struct term *t,
                           struct operand *op, struct ox_error *err)
{
    const struct ox_tensor *x = ox_run_in(r, i);
    *op = (struct operand){.data = x->data};
    size_t pitch = 1;
    for (unsigned d = x->rank; d-- > 0;) {
        if (x->dims[d] != 1) {
            op->present[t->label[d]] = true;
            op->stride[t->label[d]] += pitch;
        }
        pitch *= (size_t)x->dims[d];
    }
    if (e->work != OX_UINT64)
        return OX_OK;
    uint64_t *wide = ox_run_scratch(r, x->n, sizeof *wide, err);
    if (!wide)
        return OX_NO_MEMORY;
    for (size_t k = 0; k < x->n; k++)
        wide[k] = (uint64_t)ox_tensor_get_int(x, k);
    op->data = wide;
    return OX_OK;
}

static void narrow(const uint64_t *from, struct ox_tensor *y)
{
    switch (ox_dtype_size(y->dtype)) {
    case 1:
        for (size_t i = 0; i < y->n; i++)
            ((uint8_t *)y->data)[i] = (uint8_t)from[i];
        break;
    case 2:
        for (size_t i = 0; i < y->n; i++)
            ((uint16_t *)y->data)[i] = (uint16_t)from[i];
        break;
    case 4:
        for (size_t i = 0; i < y->n; i++)
            ((uint32_t *)y->data)[i] = (uint32_t)from[i];
        break;
    default:
        for (size_t i = 0; i < y->n; i++)
            ((uint64_t *)y->data)[i] = from[i];
        break;
    }
}

static enum ox_status run_einsum(struct ox_run *r, struct ox_error *err)
{
    const char *equation = ox_run_string(r, "equation");
    struct term *terms = ox_run_scratch(r, r->n_in, sizeof *terms, err), out;
    struct operand *ops = ox_run_scratch(r, 2, sizeof *ops, err);
    struct einsum *e = ox_run_scratch(r, 1, sizeof *e, err);
    if (!terms || !ops || !e)
        return OX_NO_MEMORY;
    if (!equation)
        return ox_run_fail(r, err, OX_INPUT, "equation is missing");
    OX_TRY(measure(r, equation, e, terms, &out, err));
    int64_t dims[MOST_RANK];
    for (unsigned i = 0; i < out.n; i++)
        dims[i] = (int64_t)e->size[out.label[i]];
    struct ox_tensor *y;
    OX_TRY(ox_run_out(r, 0, ox_run_in(r, 0)->dtype, out.n, dims, &y, err));
    bool real = y->dtype == OX_FLOAT32 || y->dtype == OX_FLOAT64;
    e->work = real ? y->dtype : OX_UINT64;
    OX_TRY(load(r, e, 0, &terms[0], &ops[0], err));
    for (size_t i = 1; i < r->n_in; i++) {
        OX_TRY(load(r, e, i, &terms[i], &ops[1], err));
        OX_TRY(contract(r, e, &ops[0], &ops[1], (unsigned)i + 1, err));
    }
    void *result = NULL;
    OX_TRY(gather(r, e, &ops[0], out.label, out.n, real ? y->data : NULL, &result, err));
    if (!real)
        narrow(result, y);
    return ox_env_poll(r->env, err);
}

const struct ox_op ox_ops_einsum[] = {{"", "Einsum", 12, .infer = infer_einsum, .run = run_einsum},
                                      {"", "Einsum", 28, .infer = infer_einsum, .run = run_einsum},
                                      {0}};
