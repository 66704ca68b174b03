/* Least and greatest values of sums, products and atoms, by those of their parts alone. */
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

static struct ox_bounds bounds_mul(struct ox_bounds a, struct ox_bounds b)
{
    struct ox_bounds r = {0};
    bool nonneg = a.has_lo && a.lo >= 0 && b.has_lo && b.lo >= 0;
    if (nonneg) {
        r.has_lo = !OX_MUL_OVERFLOWS(a.lo, b.lo, &r.lo);
        r.has_hi = a.has_hi && b.has_hi && !OX_MUL_OVERFLOWS(a.hi, b.hi, &r.hi);
        return r;
    }
    int64_t p[4];
    if (!a.has_lo || !a.has_hi || !b.has_lo || !b.has_hi || OX_MUL_OVERFLOWS(a.lo, b.lo, &p[0]) ||
        OX_MUL_OVERFLOWS(a.lo, b.hi, &p[1]) || OX_MUL_OVERFLOWS(a.hi, b.lo, &p[2]) ||
        OX_MUL_OVERFLOWS(a.hi, b.hi, &p[3]))
        return r;
    r = (struct ox_bounds){true, true, p[0], p[0]};
    for (int i = 1; i < 4; i++) {
        r.lo = p[i] < r.lo ? p[i] : r.lo;
        r.hi = p[i] > r.hi ? p[i] : r.hi;
    }
    return r;
}

static struct ox_bounds bounds_scale(struct ox_bounds a, int64_t coef)
{
    struct ox_bounds r = {0};
    bool lo_known = coef > 0 ? a.has_lo : a.has_hi;
    bool hi_known = coef > 0 ? a.has_hi : a.has_lo;
    r.has_lo = lo_known && !OX_MUL_OVERFLOWS(coef > 0 ? a.lo : a.hi, coef, &r.lo);
    r.has_hi = hi_known && !OX_MUL_OVERFLOWS(coef > 0 ? a.hi : a.lo, coef, &r.hi);
    return r;
}

static struct ox_bounds term_bounds(const struct ox_term *term)
{
    struct ox_bounds r = {true, true, 1, 1};
    for (unsigned i = 0; i < term->mono->degree; i++)
        r = bounds_mul(r, term->mono->atoms[i]->bounds);
    return bounds_scale(r, term->coef);
}

struct ox_bounds ox_bounds_sum(const struct ox_term *terms, size_t n)
{
    struct ox_bounds r = {true, true, 0, 0};
    for (size_t i = 0; i < n; i++) {
        struct ox_bounds t = term_bounds(&terms[i]);
        r.has_lo = r.has_lo && t.has_lo && !OX_ADD_OVERFLOWS(r.lo, t.lo, &r.lo);
        r.has_hi = r.has_hi && t.has_hi && !OX_ADD_OVERFLOWS(r.hi, t.hi, &r.hi);
    }
    return r;
}

static struct ox_bounds floordiv_bounds(struct ox_bounds p, const struct ox_expr *q)
{
    struct ox_bounds r = {0};
    int64_t k = q->bounds.lo;
    if (q->bounds.has_lo && q->bounds.has_hi && k == q->bounds.hi && k > 0) {
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

static struct ox_bounds negated(struct ox_bounds b)
{
    struct ox_bounds r = {0};
    r.has_lo = b.has_hi && !OX_SUB_OVERFLOWS((int64_t)0, b.hi, &r.lo);
    r.has_hi = b.has_lo && !OX_SUB_OVERFLOWS((int64_t)0, b.lo, &r.hi);
    return r;
}

/* The integers around it. */
static struct ox_bounds ratio_bounds(struct ox_bounds p, const struct ox_expr *by)
{
    struct ox_bounds lo = floordiv_bounds(p, by), hi = negated(floordiv_bounds(negated(p), by));
    return (struct ox_bounds){lo.has_lo, hi.has_hi, lo.lo, hi.hi};
}

struct ox_bounds ox_bounds_max(const struct ox_bounds *b, unsigned n)
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

struct ox_bounds ox_bounds_min(struct ox_bounds *b, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        b[i] = negated(b[i]);
    return negated(ox_bounds_max(b, n));
}

struct ox_bounds ox_atom_bounds(enum ox_atom_kind kind, const struct ox_expr *const *args,
                                unsigned n)
{
    struct ox_bounds b[OX_EXPR_MAX_ARGS + 1] = {{0}};
    if (kind == OX_ATOM_FLOORDIV)
        return floordiv_bounds(args[0]->bounds, args[1]);
    if (kind == OX_ATOM_RATIO)
        return ratio_bounds(args[0]->bounds, args[1]);
    for (unsigned i = 0; i < n; i++)
        b[i] = args[i]->bounds;
    return kind == OX_ATOM_MIN ? ox_bounds_min(b, n) : ox_bounds_max(b, n);
}
