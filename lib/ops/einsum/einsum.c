/* Einsum: operands are multiplied from left to right, each time a batch of matrix products, and labels that nothing further needs are
 * summed over. Integers run in 64 bits, which is exact modulo their own size. */
#include "ops/einsum/einsum_operand.h"
#include "ops/infer.h"

/* ---- Shape rule -------------------------------------------------------------------------------------------------- */

static void infer_einsum(struct ox_infer *c)
{
    const char *at = ox_infer_string_attr(c, "equation"), *wrong = at ? NULL : "none";
    const struct ox_expr *size[OX_EINSUM_LABELS] = {NULL};
    unsigned uses[OX_EINSUM_LABELS] = {0}, most = 0;
    bool known = true;
    struct ox_einsum_term t;
    for (size_t i = 0; !wrong && i < ox_infer_n_in(c); i++) {
        unsigned rank;
        const struct ox_expr *const *dims;
        wrong = ox_einsum_read(&at, &t);
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
        if (!ox_einsum_expand(&t, rank)) {
            wrong = "a term that does not fit its input's rank";
            break;
        }
        for (unsigned d = 0; d < rank; d++) {
            const struct ox_expr **s = &size[t.label[d]];
            *s = uses[t.label[d]]++ ? ox_infer_broadcast_dim(c, *s, dims[d]) : dims[d];
            if (t.label[d] >= OX_EINSUM_LETTERS && t.label[d] - OX_EINSUM_LETTERS + 1U > most)
                most = t.label[d] - OX_EINSUM_LETTERS + 1U;
        }
    }
    if (!wrong)
        wrong = ox_einsum_read_output(at, uses, most, &t);
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

/* Sizes of all labels, from all inputs; those of size 1 give way. */
static enum ox_status measure(struct ox_run *r, const char *equation, struct ox_einsum *e,
                              struct ox_einsum_term *terms, struct ox_einsum_term *out,
                              struct ox_error *err)
{
    unsigned uses[OX_EINSUM_LABELS] = {0}, most = 0;
    const char *at = equation, *wrong = NULL;
    for (unsigned label = 0; label < OX_EINSUM_LABELS; label++)
        e->size[label] = 1;
    for (size_t i = 0; i < r->n_in; i++) {
        const struct ox_tensor *x = ox_run_in(r, i);
        struct ox_einsum_term *t = &terms[i];
        if (!x)
            return ox_run_fail(r, err, OX_INPUT, "input %zu is missing", i);
        wrong = ox_einsum_read(&at, t);
        if (!wrong && (i + 1 < r->n_in ? *at++ != ',' : *at == ','))
            wrong = "not as many terms as inputs";
        if (!wrong && !ox_einsum_expand(t, x->rank))
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
            if (label >= OX_EINSUM_LETTERS && label - OX_EINSUM_LETTERS + 1 > most)
                most = label - OX_EINSUM_LETTERS + 1;
        }
    }
    wrong = ox_einsum_read_output(at, uses, most, out);
    if (wrong)
        return ox_run_fail(r, err, OX_INPUT, "equation '%.200s' has %s", equation, wrong);
    for (unsigned i = 0; i < out->n; i++)
        e->wanted[out->label[i]] = true;
    return OX_OK;
}

/* Input i as an operand: labels that stand twice take the diagonal, axes of size 1 fall away. */
static enum ox_status load(struct ox_run *r, const struct ox_einsum *e, size_t i,
                           const struct ox_einsum_term *t, struct ox_einsum_operand *op,
                           struct ox_error *err)
{
    const struct ox_tensor *x = ox_run_in(r, i);
    *op = (struct ox_einsum_operand){.data = x->data};
    size_t pitch = 1;
    for (unsigned d = x->rank; d-- > 0;) {
        if (x->dims[d] != 1) {
            op->present[t->label[d]] = true;
            op->stride[t->label[d]] += pitch;
        }
        pitch *= (size_t)x->dims[d];
    }
    if (ox_dtype_size(x->dtype) == ox_dtype_size(e->work))
        return OX_OK;
    uint32_t *wide = ox_run_scratch(r, x->n, sizeof *wide, err);
    if (!wide)
        return OX_NO_MEMORY;
    for (size_t k = 0; k < x->n; k++)
        wide[k] = (uint32_t)ox_tensor_get_int(x, k);
    op->data = wide;
    return OX_OK;
}

static void narrow(const uint32_t *from, struct ox_tensor *y)
{
    if (ox_dtype_size(y->dtype) == 1)
        for (size_t i = 0; i < y->n; i++)
            ((uint8_t *)y->data)[i] = (uint8_t)from[i];
    else
        for (size_t i = 0; i < y->n; i++)
            ((uint16_t *)y->data)[i] = (uint16_t)from[i];
}

/* What a type is multiplied in: small integers in wider ones. */
static enum ox_dtype work_of(enum ox_dtype dtype)
{
    if (dtype == OX_FLOAT32 || dtype == OX_FLOAT64)
        return dtype;
    return ox_dtype_size(dtype) == sizeof(uint64_t) ? OX_UINT64 : OX_UINT32;
}

static enum ox_status einsum(struct ox_run *r, bool fast, struct ox_error *err)
{
    const char *equation = ox_run_string(r, "equation");
    struct ox_einsum_term *terms = ox_run_scratch(r, r->n_in, sizeof *terms, err), out;
    struct ox_einsum_operand *ops = ox_run_scratch(r, 2, sizeof *ops, err);
    struct ox_einsum *e = ox_run_scratch(r, 1, sizeof *e, err);
    if (!terms || !ops || !e)
        return OX_NO_MEMORY;
    if (!equation)
        return ox_run_fail(r, err, OX_INPUT, "equation is missing");
    OX_TRY(measure(r, equation, e, terms, &out, err));
    int64_t dims[OX_EINSUM_RANK];
    for (unsigned i = 0; i < out.n; i++)
        dims[i] = (int64_t)e->size[out.label[i]];
    struct ox_tensor *y;
    OX_TRY(ox_run_out(r, 0, ox_run_in(r, 0)->dtype, out.n, dims, &y, err));
    e->work = work_of(y->dtype);
    void *into = ox_dtype_size(e->work) == ox_dtype_size(y->dtype) ? y->data : NULL;
    e->fast = fast;
    OX_TRY(load(r, e, 0, &terms[0], &ops[0], err));
    for (size_t i = 1; i < r->n_in; i++) {
        OX_TRY(load(r, e, i, &terms[i], &ops[1], err));
        ox_run_release_work(r); /* that of the product before */
        OX_TRY(ox_einsum_contract(r, e, &ops[0], &ops[1], (unsigned)i + 1, &out, into, err));
    }
    const void *result = y->data;
    if (ops[0].data != y->data)
        OX_TRY(ox_einsum_gather(r, e, &ops[0], out.label, out.n, into, &result, err));
    if (!into)
        narrow(result, y);
    return ox_env_poll(r->env, err);
}

static enum ox_status run_einsum(struct ox_run *r, struct ox_error *err)
{
    return einsum(r, false, err);
}

static enum ox_status fast_einsum(struct ox_run *r, struct ox_error *err)
{
    return einsum(r, true, err);
}

const struct ox_op ox_ops_einsum[] = {
    {"", "Einsum", 12, .infer = infer_einsum, .run = run_einsum, .fast = fast_einsum},
    {"", "Einsum", 28, .infer = infer_einsum, .run = run_einsum, .fast = fast_einsum},
    {0}};
