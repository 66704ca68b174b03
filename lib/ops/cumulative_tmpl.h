/* Running sums and products of a type along an axis; see cumulative_run_tmpl.h. */
#define FN N(cum_sum)
#define START 0
#define OP(a, x) ((a) + (x))
#include "ops/cumulative_run_tmpl.h"

#define FN N(cum_prod)
#define START 1
#define OP(a, x) ((a) * (x))
#include "ops/cumulative_run_tmpl.h"
