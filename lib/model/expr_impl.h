/* The inside of model/expr.h. Each file uses those before it: expr_bounds.c, expr.c (pool, sums, products), expr_divide.c,
 * expr_extremum.c (min, max), expr_ops.c (substitution, evaluation), expr_text.c. */
#ifndef OX_MODEL_EXPR_IMPL_H
#define OX_MODEL_EXPR_IMPL_H

#include "common/strmap.h"
#include "model/expr.h"

enum {
    OX_EXPR_MAX_TERMS = 48,   /* of a sum */
    OX_EXPR_MAX_DEGREE = 16,  /* of a product */
    OX_EXPR_MAX_WEIGHT = 256, /* leaves and operators; bounds depth and so recursion too */
    OX_EXPR_MAX_ARGS = 8      /* of min and max */
};

/* Least and greatest value, where known, when every symbol is >= 0 but those that are signed. */
struct ox_bounds {
    bool has_lo, has_hi;
    int64_t lo, hi;
};

enum ox_atom_kind {
    OX_ATOM_SYMBOL,
    OX_ATOM_FLOORDIV,
    OX_ATOM_RATIO, /* not whole: an expression over an integer > 1, in lowest terms */
    OX_ATOM_MIN,
    OX_ATOM_MAX
};

/* What a product multiplies. Modulo and ceiling division are written with floor division, so that more of what is
 * equal looks equal: a % k = a - k * (a // k), ceil(a / k) = (a + k - 1) // k. */
struct ox_atom {
    uint32_t id; /* by creation: the order of atoms, the same in every run */
    uint32_t hash;
    enum ox_atom_kind kind;
    unsigned weight;
    struct ox_bounds bounds;
    const char *name; /* SYMBOL */
    bool is_signed;   /* SYMBOL: it may be negative */
    unsigned n;
    const struct ox_expr *args[];
};

/* A product of atoms in ascending order, powers repeated. */
struct ox_monomial {
    uint32_t hash;
    unsigned degree;
    unsigned weight;
    const struct ox_atom *atoms[];
};

struct ox_term {
    int64_t coef; /* never 0 */
    const struct ox_monomial *mono;
};

/* A sum in descending order of monomials (degree, then atoms): the constant is last. 0 has no terms. */
struct ox_expr {
    uint32_t id;
    uint32_t hash;
    unsigned n;
    unsigned weight;
    struct ox_bounds bounds;
    const struct ox_expr **broadcast; /* n_broadcast sizes whose broadcast this was made as; NULL */
    unsigned n_broadcast;
    struct ox_term terms[];
};

struct ox_intern {
    const void **slots;
    size_t n, cap;
};

struct ox_exprs {
    struct ox_budget *budget;
    struct ox_arena arena;
    struct ox_strmap symbols;  /* name -> index in by_name */
    struct ox_strmap prefixes; /* prefix -> index in next_suffix */
    const struct ox_atom **by_name;
    size_t n_symbols, cap_symbols;
    uint32_t *next_suffix;
    size_t n_prefixes, cap_prefixes;
    struct ox_intern atoms, monomials, exprs;
    uint32_t next_atom, next_expr;
    size_t n_refused;              /* that grew over a bound */
    bool failed;                   /* out of memory once: what was NULL since may be so for that */
    bool assumed;                  /* of some symbols more than that they are >= 0 */
    const struct ox_monomial *one; /* the empty product */
};

/* ---- expr_bounds.c ---- */
int64_t ox_floor_div(int64_t a, int64_t b); /* b > 0 */
int64_t ox_gcd(int64_t a, int64_t b);       /* >= 0; gcd(0, 0) = 0 */
/* Of the greatest, or the least, of n; the list is used up. */
struct ox_bounds ox_bounds_max(const struct ox_bounds *b, unsigned n);
struct ox_bounds ox_bounds_min(struct ox_bounds *b, unsigned n);
struct ox_bounds ox_bounds_sum(const struct ox_term *terms, size_t n);
struct ox_bounds ox_atom_bounds(enum ox_atom_kind kind, const struct ox_expr *const *args,
                                unsigned n);

/* ---- expr.c ---- */
/* a / b; NULL when b does not divide a. */
const struct ox_monomial *ox_mono_div(struct ox_exprs *pool, const struct ox_monomial *a,
                                      const struct ox_monomial *b);
/* The greatest common factor. */
const struct ox_monomial *ox_mono_gcd(struct ox_exprs *pool, const struct ox_monomial *a,
                                      const struct ox_monomial *b);

/* Terms must be in order, with coefficients other than 0. */
const struct ox_expr *ox_expr_of_terms(struct ox_exprs *pool, const struct ox_term *terms,
                                       size_t n);
const struct ox_expr *ox_expr_of_atom(struct ox_exprs *pool, const struct ox_atom *atom);
/* Interned; NULL when it grows too heavy. args are in canonical order. */
const struct ox_atom *ox_atom_get(struct ox_exprs *pool, enum ox_atom_kind kind,
                                  const struct ox_expr *const *args, unsigned n);
/* a + factor * b. */
const struct ox_expr *ox_expr_add_scaled(struct ox_exprs *pool, const struct ox_expr *a,
                                         const struct ox_expr *b, int64_t factor);
/* The atom that e is, or NULL. */
const struct ox_atom *ox_expr_atom(const struct ox_expr *e);
int64_t
ox_expr_constant(const struct ox_expr *e); /* the term without symbols; 0 when there is none */

/* ---- expr_divide.c ---- */
/* The greatest common divisor of the coefficients but the constant. */
int64_t ox_expr_symbolic_gcd(const struct ox_expr *e);
/* All coefficients divided by g, which divides all but the constant; that is rounded down. */
const struct ox_expr *ox_expr_shrink(struct ox_exprs *pool, const struct ox_expr *e, int64_t g);
/* Bounds of e, looking through its min and max (a - max(a - 1, 0) is at least 0). */
struct ox_bounds ox_expr_bounds(struct ox_exprs *pool, const struct ox_expr *e);

/* ---- expr_extremum.c ---- */
/* min or max of n; NULL when one is NULL. */
const struct ox_expr *ox_expr_extremum(struct ox_exprs *pool, enum ox_atom_kind kind,
                                       const struct ox_expr *const *args, unsigned n);

#endif
