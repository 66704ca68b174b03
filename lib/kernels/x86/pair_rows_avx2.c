#include "kernels/pair_rows.h"

#include "kernels/pair_rows_tmpl.h"

const struct ox_pairs ox_pairs_avx2 = OX_PAIRS;
