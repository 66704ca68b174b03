/* Division and modulo of symbolic dimensions, and the bounds that are seen by looking through minimum, maximum and modulo. */
#include "model/expr_impl.h"

/* ---- Bounds ----------------------------------------------------------------------------------------------------- */

/* e = rest + factor * (x % k) for an integer k > 1; rest may be 0. */
struct mod_match {
    const struct ox_expr *x, *rest;
    int64_t factor, k;
};

static bool match_mod(struct ox_exprs *pool, const struct ox_expr *e, struct mod_match *match)
{
    for (unsigned i = 0; i < e->n; i++) {
        const struct ox_term *t = &e->terms[i];
        int64_t k;
        if (t->mono->degree != 1 || t->mono->atoms[0]->kind != OX_ATOM_FLOORDIV ||
            t->coef == INT64_MIN)
            continue;
        const struct ox_atom *atom = t->mono->atoms[0];
        if (!ox_expr_is_int(atom->args[1], &k) || t->coef % k)
            continue;
        int64_t factor = -(t->coef / k);
        const struct ox_expr *rest =
            ox_expr_add_scaled(pool, e, ox_expr_of_atom(pool, atom), -t->coef);
        rest = rest ? ox_expr_add_scaled(pool, rest, atom->args[0], -factor) : NULL;
        if (rest && rest->n + atom->args[0]->n < e->n) {
            *match = (struct mod_match){atom->args[0], rest, factor, k};
            return true;
        }
    }
    return false;
}

/* Bounds of e with the k-th operand put for the min or max in its term t, over all operands. */
static struct ox_bounds bounds_by_cases(struct ox_exprs *pool, const struct ox_expr *e, unsigned t,
                                        int depth);

static struct ox_bounds bounds_at(struct ox_exprs *pool, const struct ox_expr *e, int depth)
{
    struct ox_bounds best = e->bounds;
    for (unsigned t = 0; t < e->n && depth > 0; t++) {
        const struct ox_monomial *mono = e->terms[t].mono;
        if (best.has_lo && best.has_hi)
            break;
        if (mono->degree != 1 ||
            (mono->atoms[0]->kind != OX_ATOM_MIN && mono->atoms[0]->kind != OX_ATOM_MAX))
            continue;
        struct ox_bounds b = bounds_by_cases(pool, e, t, depth - 1);
        if (b.has_lo && (!best.has_lo || b.lo > best.lo))
            best.has_lo = true, best.lo = b.lo;
        if (b.has_hi && (!best.has_hi || b.hi < best.hi))
            best.has_hi = true, best.hi = b.hi;
    }
    struct mod_match match;
    if (depth > 0 && (!best.has_lo || !best.has_hi) && match_mod(pool, e, &match)) {
        struct ox_bounds rest = bounds_at(pool, match.rest, depth - 1);
        int64_t span;
        if (OX_MUL_OVERFLOWS(match.factor, match.k - 1, &span))
            return best;
        int64_t lo, hi;
        if (!best.has_lo && rest.has_lo && !OX_ADD_OVERFLOWS(rest.lo, span < 0 ? span : 0, &lo))
            best.has_lo = true, best.lo = lo;
        if (!best.has_hi && rest.has_hi && !OX_ADD_OVERFLOWS(rest.hi, span > 0 ? span : 0, &hi))
            best.has_hi = true, best.hi = hi;
    }
    return best;
}

static struct ox_bounds bounds_by_cases(struct ox_exprs *pool, const struct ox_expr *e, unsigned t,
                                        int depth)
{
    const struct ox_atom *atom = e->terms[t].mono->atoms[0];
    int64_t coef = e->terms[t].coef;
    struct ox_bounds b[OX_EXPR_MAX_ARGS + 1] = {{0}};
    const struct ox_expr *rest =
        ox_expr_add_scaled(pool, e, ox_expr_of_atom(pool, atom), coef == INT64_MIN ? 0 : -coef);
    for (unsigned i = 0; i < atom->n; i++) {
        const struct ox_expr *with = ox_expr_add_scaled(pool, rest, atom->args[i], coef);
        if (with)
            b[i] = bounds_at(pool, with, depth);
    }
    return (atom->kind == OX_ATOM_MAX) == (coef > 0) ? ox_bounds_max(b, atom->n)
                                                     : ox_bounds_min(b, atom->n);
}

struct ox_bounds ox_expr_bounds(struct ox_exprs *pool, const struct ox_expr *e)
{
    return bounds_at(pool, e, 3);
}

/* ---- Division --------------------------------------------------------------------------------------------------- */

static const struct ox_expr *negate(struct ox_exprs *pool, const struct ox_expr *e)
{
    return ox_expr_add_scaled(pool, ox_expr_int(pool, 0), e, -1);
}

const struct ox_expr *ox_expr_shrink(struct ox_exprs *pool, const struct ox_expr *e, int64_t g)
{
    struct ox_term terms[OX_EXPR_MAX_TERMS];
    size_t n = 0;
    for (unsigned i = 0; i < e->n; i++) {
        terms[n] = (struct ox_term){ox_floor_div(e->terms[i].coef, g), e->terms[i].mono};
        n += terms[n].coef != 0;
    }
    return ox_expr_of_terms(pool, terms, n);
}

int64_t ox_expr_symbolic_gcd(const struct ox_expr *e)
{
    int64_t g = 0;
    for (unsigned i = 0; i < e->n; i++) {
        if (e->terms[i].mono->degree)
            g = ox_gcd(g, e->terms[i].coef);
    }
    return g;
}

static const struct ox_expr *div_by_int(struct ox_exprs *pool, const struct ox_expr *p, int64_t k);

/* (x // m + r) // k = (x + m r) // (m k) for every integer r; NULL when p has no such term or numbers get too big. */
static const struct ox_expr *merge_nested(struct ox_exprs *pool, const struct ox_expr *p, int64_t k)
{
    for (unsigned i = 0; i < p->n; i++) {
        const struct ox_monomial *mono = p->terms[i].mono;
        int64_t m, both;
        if (p->terms[i].coef != 1 || mono->degree != 1 ||
            mono->atoms[0]->kind != OX_ATOM_FLOORDIV ||
            !ox_expr_is_int(mono->atoms[0]->args[1], &m) || OX_MUL_OVERFLOWS(m, k, &both))
            continue;
        const struct ox_expr *r = ox_expr_sub(pool, p, ox_expr_of_atom(pool, mono->atoms[0]));
        const struct ox_expr *whole = ox_expr_add_scaled(pool, mono->atoms[0]->args[0], r, m);
        return whole ? div_by_int(pool, whole, both) : NULL;
    }
    return NULL;
}

/* What is left of p // k once multiples of k are out of p and p's constant is within [0, k). */
static const struct ox_expr *div_reduced(struct ox_exprs *pool, const struct ox_expr *p, int64_t k)
{
    int64_t g = ox_expr_symbolic_gcd(p);
    if (g == 0)
        return ox_expr_int(pool, 0);
    g = ox_gcd(g, k);
    if (g > 1)
        return div_by_int(pool, ox_expr_shrink(pool, p, g), k / g);
    if (p->terms[0].coef < 0) { /* p // k = -((k - 1 - p) // k) */
        const struct ox_expr *other = ox_expr_sub(pool, ox_expr_int(pool, k - 1), p);
        return other ? negate(pool, div_by_int(pool, other, k)) : NULL;
    }
    const struct ox_expr *merged = merge_nested(pool, p, k);
    if (merged)
        return merged;
    struct ox_bounds b = ox_expr_bounds(pool, p);
    if (b.has_lo && b.has_hi && ox_floor_div(b.lo, k) == ox_floor_div(b.hi, k))
        return ox_expr_int(pool, ox_floor_div(b.lo, k));
    const struct ox_expr *args[2] = {p, ox_expr_int(pool, k)};
    return args[1] ? ox_expr_of_atom(pool, ox_atom_get(pool, OX_ATOM_FLOORDIV, args, 2)) : NULL;
}

static const struct ox_expr *div_by_int(struct ox_exprs *pool, const struct ox_expr *p, int64_t k)
{
    if (!p || k == 0 || k == INT64_MIN)
        return NULL;
    if (k < 0)
        return div_by_int(pool, negate(pool, p), -k);
    if (k == 1)
        return p;
    struct ox_term out[OX_EXPR_MAX_TERMS], in[OX_EXPR_MAX_TERMS];
    size_t n_out = 0, n_in = 0;
    for (unsigned i = 0; i < p->n; i++) {
        const struct ox_term *t = &p->terms[i];
        if (t->coef % k == 0) {
            out[n_out++] = (struct ox_term){t->coef / k, t->mono};
        } else if (t->mono->degree == 0) {
            int64_t q = ox_floor_div(t->coef, k);
            if (q)
                out[n_out++] = (struct ox_term){q, t->mono};
            in[n_in++] = (struct ox_term){t->coef - q * k, t->mono};
        } else {
            in[n_in++] = *t;
        }
    }
    const struct ox_expr *whole = ox_expr_of_terms(pool, out, n_out);
    const struct ox_expr *part = ox_expr_of_terms(pool, in, n_in);
    return part ? ox_expr_add(pool, whole, div_reduced(pool, part, k)) : NULL;
}

/* p / q when q divides p as polynomials with integer coefficients; NULL when it does not. */
static const struct ox_expr *exact_quotient(struct ox_exprs *pool, const struct ox_expr *p,
                                            const struct ox_expr *q)
{
    const struct ox_expr *quotient = ox_expr_int(pool, 0);
    for (int steps = 0; p && p->n && steps < OX_EXPR_MAX_TERMS; steps++) {
        const struct ox_monomial *mono = ox_mono_div(pool, p->terms[0].mono, q->terms[0].mono);
        int64_t d = q->terms[0].coef;
        if (!mono || (d == -1 && p->terms[0].coef == INT64_MIN) || p->terms[0].coef % d)
            return NULL;
        const struct ox_expr *step =
            ox_expr_of_terms(pool, &(struct ox_term){p->terms[0].coef / d, mono}, 1);
        quotient = step ? ox_expr_add(pool, quotient, step) : NULL;
        p = step ? ox_expr_sub(pool, p, ox_expr_mul(pool, step, q)) : NULL;
    }
    return p && p->n == 0 ? quotient : NULL;
}

/* The factor that all terms of both have in common: its integer and its monomial. */
static const struct ox_monomial *common_factor(struct ox_exprs *pool, const struct ox_expr *p,
                                               const struct ox_expr *q, int64_t *content)
{
    const struct ox_monomial *mono = q->terms[0].mono;
    int64_t g = 0;
    for (unsigned i = 0; i < p->n + q->n && mono; i++) {
        const struct ox_term *t = i < p->n ? &p->terms[i] : &q->terms[i - p->n];
        g = ox_gcd(g, t->coef);
        mono = ox_mono_gcd(pool, mono, t->mono);
    }
    *content = q->terms[0].coef < 0 ? -g : g;
    return mono;
}

static const struct ox_expr *div_factor(struct ox_exprs *pool, const struct ox_expr *e,
                                        int64_t content, const struct ox_monomial *mono)
{
    struct ox_term terms[OX_EXPR_MAX_TERMS];
    for (unsigned i = 0; i < e->n; i++) {
        terms[i].coef = e->terms[i].coef / content;
        terms[i].mono = ox_mono_div(pool, e->terms[i].mono, mono);
        if (!terms[i].mono)
            return NULL;
    }
    return ox_expr_of_terms(pool, terms, e->n);
}

/* (n q + r) // q = n + r // q for a divisor of one term. */
static const struct ox_expr *split_multiples(struct ox_exprs *pool, const struct ox_expr **p,
                                             const struct ox_expr *q)
{
    struct ox_term out[OX_EXPR_MAX_TERMS], in[OX_EXPR_MAX_TERMS];
    size_t n_out = 0, n_in = 0;
    for (unsigned i = 0; i < (*p)->n; i++) {
        const struct ox_term *t = &(*p)->terms[i];
        const struct ox_monomial *mono =
            t->coef % q->terms[0].coef == 0 ? ox_mono_div(pool, t->mono, q->terms[0].mono) : NULL;
        if (mono)
            out[n_out++] = (struct ox_term){t->coef / q->terms[0].coef, mono};
        else
            in[n_in++] = *t;
    }
    *p = ox_expr_of_terms(pool, in, n_in);
    return ox_expr_of_terms(pool, out, n_out);
}

static const struct ox_expr *div_by_expr(struct ox_exprs *pool, const struct ox_expr *p,
                                         const struct ox_expr *q)
{
    int64_t content, k;
    const struct ox_monomial *mono = common_factor(pool, p, q, &content);
    if (!mono)
        return NULL;
    if (mono->degree || content != 1) {
        if (content < 0) { /* -x may overflow where x / -1 would */
            p = negate(pool, p);
            q = negate(pool, q);
            content = content == INT64_MIN ? 0 : -content;
        }
        p = p && content ? div_factor(pool, p, content, mono) : NULL;
        q = q && content ? div_factor(pool, q, content, mono) : NULL;
        if (!p || !q)
            return NULL;
    }
    if (ox_expr_is_int(q, &k))
        return div_by_int(pool, p, k);
    const struct ox_expr *whole = exact_quotient(pool, p, q);
    if (whole)
        return whole;
    whole = ox_expr_int(pool, 0);
    if (q->n == 1)
        whole = split_multiples(pool, &p, q);
    if (!p || p->n == 0)
        return p ? whole : NULL;
    const struct ox_expr *gap = ox_expr_sub(pool, q, p);
    if (p->bounds.has_lo && p->bounds.lo >= 0 && gap && gap->bounds.has_lo && gap->bounds.lo > 0)
        return whole;
    const struct ox_expr *args[2] = {p, q};
    return ox_expr_add(pool, whole,
                       ox_expr_of_atom(pool, ox_atom_get(pool, OX_ATOM_FLOORDIV, args, 2)));
}

const struct ox_expr *ox_expr_floordiv(struct ox_exprs *pool, const struct ox_expr *a,
                                       const struct ox_expr *b)
{
    int64_t k;
    if (!a || !b)
        return NULL;
    if (ox_expr_is_int(b, &k))
        return div_by_int(pool, a, k);
    return a->n == 0 ? a : div_by_expr(pool, a, b);
}

const struct ox_expr *ox_expr_ceildiv(struct ox_exprs *pool, const struct ox_expr *a,
                                      const struct ox_expr *b)
{
    int64_t k;
    if (!a || !b)
        return NULL;
    if (ox_expr_is_int(b, &k) && k < 0)
        return ox_expr_ceildiv(pool, negate(pool, a), negate(pool, b));
    if (!b->bounds.has_lo || b->bounds.lo < 0) {
        const struct ox_expr *quotient = ox_expr_floordiv(pool, negate(pool, a), b);
        return quotient ? negate(pool, quotient) : NULL;
    }
    return ox_expr_floordiv(pool, ox_expr_sub(pool, ox_expr_add(pool, a, b), ox_expr_int(pool, 1)),
                            b);
}

const struct ox_expr *ox_expr_mod(struct ox_exprs *pool, const struct ox_expr *a,
                                  const struct ox_expr *b)
{
    const struct ox_expr *quotient = ox_expr_floordiv(pool, a, b);
    return quotient ? ox_expr_sub(pool, a, ox_expr_mul(pool, b, quotient)) : NULL;
}

bool ox_expr_differ(struct ox_exprs *pool, const struct ox_expr *a, const struct ox_expr *b)
{
    if (!a || !b || a == b)
        return false;
    const struct ox_expr *d = ox_expr_sub(pool, a, b);
    if (!d)
        return false;
    struct ox_bounds bounds = ox_expr_bounds(pool, d);
    if ((bounds.has_lo && bounds.lo > 0) || (bounds.has_hi && bounds.hi < 0))
        return true;
    /* 2a and 2b + 1: what the symbols contribute is a multiple of g, the constant is not. */
    int64_t g = ox_expr_symbolic_gcd(d);
    return g > 1 && ox_expr_constant(d) % g != 0;
}

/* ---- Ratios ----------------------------------------------------------------------------------------------------- */

const struct ox_expr *ox_expr_ratio(struct ox_exprs *pool, const struct ox_expr *e, int64_t by)
{
    if (!e || by <= 1)
        return by == 1 ? e : NULL;
    int64_t g = ox_gcd(ox_gcd(ox_expr_symbolic_gcd(e), ox_expr_constant(e)), by);
    const struct ox_expr *args[2] = {ox_expr_shrink(pool, e, g), ox_expr_int(pool, by / g)};
    if (!args[0] || by == g)
        return args[0];
    return args[1] ? ox_expr_of_atom(pool, ox_atom_get(pool, OX_ATOM_RATIO, args, 2)) : NULL;
}

bool ox_expr_ratio_parts(const struct ox_expr *e, const struct ox_expr **over, int64_t *under)
{
    const struct ox_atom *atom = ox_expr_atom(e);
    *over = atom && atom->kind == OX_ATOM_RATIO ? atom->args[0] : e;
    *under = *over == e ? 1 : ox_expr_constant(atom->args[1]);
    for (unsigned i = 0; e && *over == e && i < e->n; i++) {
        for (unsigned j = 0; j < e->terms[i].mono->degree; j++)
            if (e->terms[i].mono->atoms[j]->kind == OX_ATOM_RATIO)
                return false;
    }
    return e != NULL;
}
