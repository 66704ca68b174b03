/* Running sums and products of a type along an axis; see cumulative_run_tmpl.h. */
#define FN N(cum_sum)
#define ROWS N(cum_sum_rows)
#define START 0
#define OP(a, x) ((a) + (x))
#include "ops/cumulative_run_tmpl.h"

#define FN N(cum_prod)
#define ROWS N(cum_prod_rows)
#define START 1
#define OP(a, x) ((a) * (x))
#include "ops/cumulative_run_tmpl.h"
