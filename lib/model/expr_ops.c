/* Division, modulo, minimum, maximum, broadcast of symbolic dimensions, and what bounds and substitution need of them. */
#include <stdlib.h>
#include <string.h>

#include "model/expr_impl.h"

int64_t ox_floor_div(int64_t a, int64_t b)
{
    int64_t q = a / b;
    return a % b < 0 ? q - 1 : q;
}

int64_t ox_gcd(int64_t a, int64_t b)
{
    uint64_t x = a < 0 ? 0 - (uint64_t)a : (uint64_t)a;
    uint64_t y = b < 0 ? 0 - (uint64_t)b : (uint64_t)b;
    while (y) {
        uint64_t rest = x % y;
        x = y;
        y = rest;
    }
    return x > INT64_MAX ? 1 : (int64_t)x; /* 2^63 divides nothing else that we hold */
}

/* ---- Bounds ----------------------------------------------------------------------------------------------------- */

static struct ox_bounds floordiv_bounds(struct ox_bounds p, const struct ox_expr *q)
{
    struct ox_bounds r = {0};
    int64_t k;
    if (ox_expr_is_int(q, &k) && k > 0) {
        r.has_lo = p.has_lo;
        r.has_hi = p.has_hi;
        r.lo = p.has_lo ? ox_floor_div(p.lo, k) : 0;
        r.hi = p.has_hi ? ox_floor_div(p.hi, k) : 0;
    } else if (q->bounds.has_lo &&
               q->bounds.lo >= 0) { /* 0 would be no value at all: it is at least 1 */
        r.has_lo = p.has_lo;
        r.lo = p.lo < 0 ? p.lo : 0;
        r.has_hi = p.has_hi;
        r.hi = p.hi < 0 ? -1 : p.hi;
    }
    return r;
}

static struct ox_bounds max_bounds(const struct ox_bounds *b, unsigned n)
{
    struct ox_bounds r = b[0];
    for (unsigned i = 1; i < n; i++) {
        if (b[i].has_lo && (!r.has_lo || b[i].lo > r.lo))
            r.lo = b[i].lo;
        r.has_lo |= b[i].has_lo;
        r.has_hi &= b[i].has_hi;
        if (b[i].has_hi && b[i].hi > r.hi)
            r.hi = b[i].hi;
    }
    return r;
}

static struct ox_bounds negated(struct ox_bounds b)
{
    struct ox_bounds r = {0};
    r.has_lo = b.has_hi && !OX_SUB_OVERFLOWS((int64_t)0, b.hi, &r.lo);
    r.has_hi = b.has_lo && !OX_SUB_OVERFLOWS((int64_t)0, b.lo, &r.hi);
    return r;
}

static struct ox_bounds min_bounds(struct ox_bounds *b, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        b[i] = negated(b[i]);
    return negated(max_bounds(b, n));
}

struct ox_bounds ox_atom_bounds(enum ox_atom_kind kind, const struct ox_expr *const *args,
                                unsigned n)
{
    struct ox_bounds b[OX_EXPR_MAX_ARGS + 1] = {{0}};
    if (kind == OX_ATOM_FLOORDIV)
        return floordiv_bounds(args[0]->bounds, args[1]);
    for (unsigned i = 0; i < n; i++)
        b[i] = args[i]->bounds;
    return kind == OX_ATOM_MIN ? min_bounds(b, n) : max_bounds(b, n);
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
    struct ox_mod_match match;
    if (depth > 0 && (!best.has_lo || !best.has_hi) && ox_expr_match_mod(pool, e, &match)) {
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
    return (atom->kind == OX_ATOM_MAX) == (coef > 0) ? max_bounds(b, atom->n)
                                                     : min_bounds(b, atom->n);
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

/* All coefficients divided by g, which divides all but the constant; that is rounded down. */
static const struct ox_expr *shrink(struct ox_exprs *pool, const struct ox_expr *e, int64_t g)
{
    struct ox_term terms[OX_EXPR_MAX_TERMS];
    size_t n = 0;
    for (unsigned i = 0; i < e->n; i++) {
        terms[n] = (struct ox_term){ox_floor_div(e->terms[i].coef, g), e->terms[i].mono};
        n += terms[n].coef != 0;
    }
    return ox_expr_of_terms(pool, terms, n);
}

static int64_t symbolic_gcd(const struct ox_expr *e)
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
    int64_t g = symbolic_gcd(p);
    if (g == 0)
        return ox_expr_int(pool, 0);
    g = ox_gcd(g, k);
    if (g > 1)
        return div_by_int(pool, shrink(pool, p, g), k / g);
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

bool ox_expr_match_mod(struct ox_exprs *pool, const struct ox_expr *e, struct ox_mod_match *match)
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
            *match = (struct ox_mod_match){atom->args[0], rest, factor, k};
            return true;
        }
    }
    return false;
}

/* ---- Minimum, maximum, broadcast -------------------------------------------------------------------------------- */

struct operands {
    const struct ox_expr *items[OX_EXPR_MAX_ARGS];
    unsigned n;
    unsigned steps; /* bounds what nested ones multiply to */
};

enum { MAX_STEPS = 64 };

/* Whether a says nothing beside b: a <= b for max, a >= b for min. */
static bool is_dominated(struct ox_exprs *pool, enum ox_atom_kind kind, const struct ox_expr *a,
                         const struct ox_expr *b)
{
    const struct ox_expr *d =
        kind == OX_ATOM_MAX ? ox_expr_sub(pool, b, a) : ox_expr_sub(pool, a, b);
    if (!d)
        return false;
    struct ox_bounds bounds = ox_expr_bounds(pool, d);
    return bounds.has_lo && bounds.lo >= 0;
}

/* The term of e that is a positive multiple of such an atom (a + 2 max(b, c) = max(a + 2b, a + 2c)); NULL. */
static const struct ox_term *nested_extremum(const struct ox_expr *e, enum ox_atom_kind kind)
{
    for (unsigned i = 0; i < e->n; i++) {
        const struct ox_term *t = &e->terms[i];
        if (t->coef > 0 && t->mono->degree == 1 && t->mono->atoms[0]->kind == kind)
            return t;
    }
    return NULL;
}

static bool operands_add(struct ox_exprs *pool, struct operands *list, enum ox_atom_kind kind,
                         const struct ox_expr *e)
{
    const struct ox_term *nested = nested_extremum(e, kind);
    if (++list->steps > MAX_STEPS)
        return false;
    if (nested) {
        const struct ox_atom *atom = nested->mono->atoms[0];
        const struct ox_expr *rest =
            ox_expr_add_scaled(pool, e, ox_expr_of_atom(pool, atom), -nested->coef);
        for (unsigned i = 0; i < atom->n; i++) {
            const struct ox_expr *arg = ox_expr_add_scaled(pool, rest, atom->args[i], nested->coef);
            if (!arg || !operands_add(pool, list, kind, arg))
                return false;
        }
        return true;
    }
    for (unsigned i = 0; i < list->n; i++) {
        if (list->items[i] == e || is_dominated(pool, kind, e, list->items[i]))
            return true;
    }
    unsigned kept = 0;
    for (unsigned i = 0; i < list->n; i++) {
        if (!is_dominated(pool, kind, list->items[i], e))
            list->items[kept++] = list->items[i];
    }
    if (kept == OX_EXPR_MAX_ARGS)
        return false;
    list->n = kept;
    list->items[list->n++] = e;
    return true;
}

/* Numbers first, then by age. */
static int compare_operands(const void *a, const void *b)
{
    const struct ox_expr *x = *(const struct ox_expr *const *)a;
    const struct ox_expr *y = *(const struct ox_expr *const *)b;
    bool x_number = ox_expr_is_int(x, NULL), y_number = ox_expr_is_int(y, NULL);
    if (x_number != y_number)
        return x_number ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

/* The terms that all operands share, and of the constants the least: max(a + 2, b + 1) = 1 + max(a + 1, b). */
static const struct ox_expr *shared_terms(struct ox_exprs *pool, const struct operands *list)
{
    struct ox_term terms[OX_EXPR_MAX_TERMS];
    const struct ox_expr *first = list->items[0];
    int64_t constant = ox_expr_constant(first);
    size_t n = 0;
    for (unsigned i = 1; i < list->n; i++) {
        int64_t other = ox_expr_constant(list->items[i]);
        constant = other < constant ? other : constant;
    }
    for (unsigned t = 0; t < first->n; t++) {
        unsigned with = 1;
        for (unsigned i = 1; i < list->n; i++) {
            for (unsigned u = 0; u < list->items[i]->n; u++)
                with += list->items[i]->terms[u].mono == first->terms[t].mono &&
                        list->items[i]->terms[u].coef == first->terms[t].coef;
        }
        if (with == list->n && first->terms[t].mono->degree)
            terms[n++] = first->terms[t];
    }
    if (constant)
        terms[n++] = (struct ox_term){constant, pool->one};
    return ox_expr_of_terms(pool, terms, n);
}

/* min or max of a list that is pruned already; the list is used up. */
static const struct ox_expr *extremum(struct ox_exprs *pool, enum ox_atom_kind kind,
                                      struct operands *list)
{
    if (list->n == 1)
        return list->items[0];
    const struct ox_expr *shared = shared_terms(pool, list);
    int64_t g = 0;
    for (unsigned i = 0; i < list->n; i++) {
        list->items[i] = ox_expr_sub(pool, list->items[i], shared);
        if (!list->items[i])
            return NULL;
        g = ox_gcd(g, ox_gcd(symbolic_gcd(list->items[i]), ox_expr_constant(list->items[i])));
    }
    for (unsigned i = 0; i < list->n && g > 1; i++) {
        list->items[i] = shrink(pool, list->items[i], g);
        if (!list->items[i])
            return NULL;
    }
    qsort(list->items, list->n, sizeof list->items[0], compare_operands);
    const struct ox_expr *result =
        ox_expr_of_atom(pool, ox_atom_get(pool, kind, list->items, list->n));
    return result ? ox_expr_add_scaled(pool, shared, result, g > 1 ? g : 1) : NULL;
}

static const struct ox_expr *combine(struct ox_exprs *pool, enum ox_atom_kind kind,
                                     const struct ox_expr *const *args, unsigned n)
{
    struct operands list = {.n = 0};
    for (unsigned i = 0; i < n; i++) {
        if (!args[i] || !operands_add(pool, &list, kind, args[i]))
            return NULL;
    }
    return extremum(pool, kind, &list);
}

const struct ox_expr *ox_expr_min(struct ox_exprs *pool, const struct ox_expr *a,
                                  const struct ox_expr *b)
{
    return combine(pool, OX_ATOM_MIN, (const struct ox_expr *const[]){a, b}, 2);
}

const struct ox_expr *ox_expr_max(struct ox_exprs *pool, const struct ox_expr *a,
                                  const struct ox_expr *b)
{
    return combine(pool, OX_ATOM_MAX, (const struct ox_expr *const[]){a, b}, 2);
}

/* Adds the sizes that e is made of: e itself, or those that it is the broadcast of. */
static bool add_sizes(const struct ox_expr **sizes, unsigned *n, const struct ox_expr *e)
{
    const struct ox_expr *const *parts = e->broadcast ? e->broadcast : &e;
    unsigned n_parts = e->broadcast ? e->n_broadcast : 1;
    for (unsigned i = 0; i < n_parts; i++) {
        bool seen = ox_expr_is_int(parts[i], NULL) && ox_expr_constant(parts[i]) == 1;
        for (unsigned j = 0; j < *n && !seen; j++)
            seen = sizes[j] == parts[i];
        if (seen)
            continue;
        if (*n == OX_EXPR_MAX_ARGS - 1)
            return false;
        sizes[(*n)++] = parts[i];
    }
    return true;
}

/* Whether the sizes can be nothing else than sizes: bcast(d, -1) = -d must not mark -d. */
static bool are_sizes(const struct ox_expr *const *sizes, unsigned n, const struct ox_expr *product)
{
    bool known = true;
    for (unsigned i = 0; i < n; i++)
        known &= sizes[i]->bounds.has_lo && sizes[i]->bounds.lo >= 0;
    return known ||
           (product->n == 1 && product->terms[0].coef == 1 && product->terms[0].mono->degree == 2);
}

/* The product alone would not show that broadcast(broadcast(a, b), a) is broadcast(a, b): so it keeps its sizes. */
const struct ox_expr *ox_expr_broadcast(struct ox_exprs *pool, const struct ox_expr *a,
                                        const struct ox_expr *b)
{
    const struct ox_expr *sizes[OX_EXPR_MAX_ARGS];
    unsigned n = 0;
    if (!a || !b || !add_sizes(sizes, &n, a) || !add_sizes(sizes, &n, b))
        return NULL;
    if (n <= 1)
        return n ? sizes[0] : ox_expr_int(pool, 1);
    qsort(sizes, n, sizeof(sizes[0]), compare_operands);
    const struct ox_expr *greatest = combine(pool, OX_ATOM_MAX, sizes, n);
    sizes[n] = ox_expr_int(pool, 1);
    const struct ox_expr *least = combine(pool, OX_ATOM_MIN, sizes, n + 1);
    const struct ox_expr *product = ox_expr_mul(pool, greatest, least);
    if (!product || product->broadcast || ox_expr_is_int(product, NULL) ||
        !are_sizes(sizes, n, product))
        return product;
    const struct ox_expr **copy = ox_arena_copy(&pool->arena, sizes, n * sizeof(sizes[0]));
    if (!copy)
        return NULL;
    struct ox_expr *made = (struct ox_expr *)(uintptr_t)product; /* ours: the pool's */
    made->broadcast = copy;
    made->n_broadcast = n;
    return product;
}

/* ---- Substitution and evaluation -------------------------------------------------------------------------------- */

const struct ox_expr *ox_expr_rebuild(struct ox_exprs *pool, enum ox_atom_kind kind,
                                      const struct ox_expr *const *args, unsigned n)
{
    return kind == OX_ATOM_FLOORDIV ? ox_expr_floordiv(pool, args[0], args[1])
                                    : combine(pool, kind, args, n);
}

static bool any_symbol(const struct ox_expr *e,
                       bool (*test)(void *arg, const struct ox_atom *symbol), void *arg)
{
    for (unsigned i = 0; i < e->n; i++) {
        for (unsigned j = 0; j < e->terms[i].mono->degree; j++) {
            const struct ox_atom *atom = e->terms[i].mono->atoms[j];
            if (atom->kind == OX_ATOM_SYMBOL && test(arg, atom))
                return true;
            for (unsigned k = 0; k < atom->n; k++) {
                if (any_symbol(atom->args[k], test, arg))
                    return true;
            }
        }
    }
    return false;
}

/* A test of names, as any_symbol() takes one. */
struct name_test {
    bool (*test)(void *arg, const char *symbol);
    void *arg;
};

static bool test_name(void *arg, const struct ox_atom *symbol)
{
    const struct name_test *names = arg;
    return names->test(names->arg, symbol->name);
}

bool ox_expr_any_symbol(const struct ox_expr *e, bool (*test)(void *arg, const char *symbol),
                        void *arg)
{
    return e && any_symbol(e, test_name, &(struct name_test){test, arg});
}

static bool is_signed(void *arg, const struct ox_atom *symbol)
{
    (void)arg;
    return symbol->is_signed;
}

bool ox_expr_has_signed(const struct ox_expr *e)
{
    return e && any_symbol(e, is_signed, NULL);
}

bool ox_expr_linear(struct ox_exprs *pool, const struct ox_expr *e, const struct ox_expr **symbol,
                    int64_t *factor, int64_t *constant)
{
    if (!e || e->n == 0 || e->n > 2 || e->terms[0].mono->degree != 1 ||
        (e->n == 2 && e->terms[1].mono->degree) ||
        e->terms[0].mono->atoms[0]->kind != OX_ATOM_SYMBOL)
        return false;
    *symbol = ox_expr_of_atom(pool, e->terms[0].mono->atoms[0]);
    *factor = e->terms[0].coef;
    *constant = ox_expr_constant(e);
    return *symbol != NULL;
}

static bool atom_mentions(const struct ox_atom *in, const struct ox_atom *symbol);

bool ox_expr_mentions(const struct ox_expr *e, const struct ox_expr *symbol)
{
    const struct ox_atom *atom = ox_expr_atom(symbol);
    for (unsigned i = 0; e && i < e->n; i++) {
        for (unsigned j = 0; j < e->terms[i].mono->degree; j++) {
            if (atom_mentions(e->terms[i].mono->atoms[j], atom))
                return true;
        }
    }
    return false;
}

static bool atom_mentions(const struct ox_atom *in, const struct ox_atom *symbol)
{
    bool found = in == symbol;
    for (unsigned i = 0; i < in->n && !found; i++) {
        for (unsigned t = 0; t < in->args[i]->n && !found; t++) {
            const struct ox_monomial *mono = in->args[i]->terms[t].mono;
            for (unsigned j = 0; j < mono->degree && !found; j++)
                found = atom_mentions(mono->atoms[j], symbol);
        }
    }
    return found;
}

static const struct ox_expr *replace_atom(struct ox_exprs *pool, const struct ox_atom *atom,
                                          const struct ox_expr *symbol, const struct ox_expr *by)
{
    const struct ox_expr *args[OX_EXPR_MAX_ARGS + 1];
    if (atom == ox_expr_atom(symbol))
        return by;
    if (atom->kind == OX_ATOM_SYMBOL)
        return ox_expr_of_atom(pool, atom);
    for (unsigned i = 0; i < atom->n; i++)
        args[i] = ox_expr_replace(pool, atom->args[i], symbol, by);
    return ox_expr_rebuild(pool, atom->kind, args, atom->n);
}

const struct ox_expr *ox_expr_replace(struct ox_exprs *pool, const struct ox_expr *in,
                                      const struct ox_expr *symbol, const struct ox_expr *by)
{
    if (!in || !symbol || !by)
        return NULL;
    if (!ox_expr_mentions(in, symbol))
        return in;
    const struct ox_expr *sum = ox_expr_int(pool, 0);
    for (unsigned i = 0; i < in->n; i++) {
        const struct ox_monomial *mono = in->terms[i].mono;
        const struct ox_expr *product = ox_expr_int(pool, in->terms[i].coef);
        for (unsigned j = 0; j < mono->degree; j++)
            product = ox_expr_mul(pool, product, replace_atom(pool, mono->atoms[j], symbol, by));
        sum = ox_expr_add(pool, sum, product);
    }
    return sum;
}

struct lookup {
    bool (*find)(void *arg, const char *symbol, int64_t *value);
    void *arg;
};

static bool eval_sum(const struct ox_expr *e, const struct lookup *lookup, int64_t *value);

static bool eval_atom(const struct ox_atom *atom, const struct lookup *lookup, int64_t *value)
{
    int64_t v[OX_EXPR_MAX_ARGS + 1] = {0};
    if (atom->kind == OX_ATOM_SYMBOL)
        return lookup->find(lookup->arg, atom->name, value);
    for (unsigned i = 0; i < atom->n; i++) {
        if (!eval_sum(atom->args[i], lookup, &v[i]))
            return false;
    }
    if (atom->kind == OX_ATOM_FLOORDIV) {
        if (v[1] == 0 || v[1] == INT64_MIN || v[0] == INT64_MIN)
            return false;
        *value = v[1] > 0 ? ox_floor_div(v[0], v[1]) : ox_floor_div(-v[0], -v[1]);
        return true;
    }
    int64_t least = v[0], greatest = v[0];
    for (unsigned i = 1; i < atom->n; i++) {
        least = v[i] < least ? v[i] : least;
        greatest = v[i] > greatest ? v[i] : greatest;
    }
    *value = atom->kind == OX_ATOM_MIN ? least : greatest;
    return true;
}

static bool eval_sum(const struct ox_expr *e, const struct lookup *lookup, int64_t *value)
{
    int64_t sum = 0;
    for (unsigned i = 0; i < e->n; i++) {
        int64_t product = e->terms[i].coef, factor;
        for (unsigned j = 0; j < e->terms[i].mono->degree; j++) {
            if (!eval_atom(e->terms[i].mono->atoms[j], lookup, &factor) ||
                OX_MUL_OVERFLOWS(product, factor, &product))
                return false;
        }
        if (OX_ADD_OVERFLOWS(sum, product, &sum))
            return false;
    }
    *value = sum;
    return true;
}

bool ox_expr_eval(const struct ox_expr *e,
                  bool (*lookup)(void *arg, const char *symbol, int64_t *value), void *arg,
                  int64_t *value)
{
    struct lookup with = {lookup, arg};
    return e && eval_sum(e, &with, value);
}
