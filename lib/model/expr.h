/* Symbolic dimensions: integer expressions over named symbols, interned in canonical form, so that equal expressions
 * are the same pointer. NULL is "unknown", and every function with a NULL operand gives NULL. */
#ifndef OX_MODEL_EXPR_H
#define OX_MODEL_EXPR_H

#include "common/arena.h"
#include "common/error.h"

/* Sums of products with integer coefficients are the canonical form; floor and ceiling division, modulo, min and max of such
 * sums are atoms in it, as symbols are. */
struct ox_expr;
struct ox_exprs; /* a pool */

struct ox_exprs *ox_exprs_new(struct ox_budget *budget);
void ox_exprs_release(struct ox_exprs *pool);
/* Whether some expression is NULL because memory ran out. */
bool ox_exprs_failed(const struct ox_exprs *pool);

/* All return NULL when an operand is NULL, on 64-bit overflow, when the expression grows over the pool's bound, or when out
 * of memory. */
const struct ox_expr *ox_expr_int(struct ox_exprs *pool, int64_t value);
/* The same name is the same symbol; it stands for an integer >= 0. */
const struct ox_expr *ox_expr_symbol(struct ox_exprs *pool, const char *name);
/* From here on the symbol stands for an integer >= 1. */
void ox_expr_assume_positive(struct ox_exprs *pool, const struct ox_expr *symbol);
/* Takes all that back: symbols stand for integers >= 0 again. false: out of memory, nothing was done. */
bool ox_exprs_assume_nothing(struct ox_exprs *pool);
/* A new symbol "prefix", "prefix_1", ... that no one has yet. */
const struct ox_expr *ox_expr_fresh(struct ox_exprs *pool, const char *prefix);
/* Likewise one that stands for any integer, as an element of data does. */
const struct ox_expr *ox_expr_fresh_signed(struct ox_exprs *pool, const char *prefix);
/* Whether a symbol in it stands for any integer; false for NULL. */
bool ox_expr_has_signed(const struct ox_expr *e);
const struct ox_expr *ox_expr_add(struct ox_exprs *pool, const struct ox_expr *a,
                                  const struct ox_expr *b);
const struct ox_expr *ox_expr_sub(struct ox_exprs *pool, const struct ox_expr *a,
                                  const struct ox_expr *b);
const struct ox_expr *ox_expr_mul(struct ox_exprs *pool, const struct ox_expr *a,
                                  const struct ox_expr *b);
const struct ox_expr *ox_expr_floordiv(struct ox_exprs *pool, const struct ox_expr *a,
                                       const struct ox_expr *b);
const struct ox_expr *ox_expr_ceildiv(struct ox_exprs *pool, const struct ox_expr *a,
                                      const struct ox_expr *b);
const struct ox_expr *ox_expr_mod(struct ox_exprs *pool, const struct ox_expr *a,
                                  const struct ox_expr *b);
/* e / by exactly, by > 0: a float on the way from a size to a size, H*0.5. Rounded it is whole again; no size holds one, and
 * functions but +, -, * must not be given one. */
const struct ox_expr *ox_expr_ratio(struct ox_exprs *pool, const struct ox_expr *e, int64_t by);
/* What it is over what, itself over 1 where it is whole; false where it is NULL or a ratio is within a sum or product. */
bool ox_expr_ratio_parts(const struct ox_expr *e, const struct ox_expr **over, int64_t *under);
const struct ox_expr *ox_expr_min(struct ox_exprs *pool, const struct ox_expr *a,
                                  const struct ox_expr *b);
const struct ox_expr *ox_expr_max(struct ox_exprs *pool, const struct ox_expr *a,
                                  const struct ox_expr *b);
/* The size that two sizes broadcast to (numpy: equal, or one of them is 1), which are taken to be compatible: printed as
 * max(a,b)*min(1,a,b), which holds for 0 too. */
const struct ox_expr *ox_expr_broadcast(struct ox_exprs *pool, const struct ox_expr *a,
                                        const struct ox_expr *b);

/* How many expressions were refused because they grew over a bound. */
size_t ox_exprs_n_refused(const struct ox_exprs *pool);

bool ox_expr_is_int(const struct ox_expr *e,
                    int64_t *value); /* value may be NULL; false for NULL */
bool ox_expr_is_symbol(const struct ox_expr *e, const char **name);
/* Least and greatest value when all symbols are >= 0; false when not known. */
bool ox_expr_least(const struct ox_expr *e, int64_t *least);
bool ox_expr_greatest(const struct ox_expr *e, int64_t *greatest);
/* Surely different for all values of the symbols (a and a+1; 3 and 4). */
bool ox_expr_differ(struct ox_exprs *pool, const struct ox_expr *a, const struct ox_expr *b);
bool ox_expr_mentions(const struct ox_expr *e, const struct ox_expr *symbol);
/* Whether test() holds for one of its symbols. */
bool ox_expr_any_symbol(const struct ox_expr *e, bool (*test)(void *arg, const char *symbol),
                        void *arg);
/* e = factor * symbol + constant; false when it is no such thing. */
bool ox_expr_linear(struct ox_exprs *pool, const struct ox_expr *e, const struct ox_expr **symbol,
                    int64_t *factor, int64_t *constant);
/* The expression with a symbol replaced. */
const struct ox_expr *ox_expr_replace(struct ox_exprs *pool, const struct ox_expr *in,
                                      const struct ox_expr *symbol, const struct ox_expr *by);
/* "batch*seq+1"; the grammar that ox_expr_parse() reads: + - * // % ceil(a/b) min(,) max(,). NULL prints "?". */
void ox_expr_print(struct ox_strbuf *out, const struct ox_expr *e);
const struct ox_expr *ox_expr_parse(struct ox_exprs *pool, const char *text);
/* Numbers for symbols: lookup returns false for a symbol it does not know. */
bool ox_expr_eval(const struct ox_expr *e,
                  bool (*lookup)(void *arg, const char *symbol, int64_t *value), void *arg,
                  int64_t *value);

#endif
