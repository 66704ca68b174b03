#include "kernels/pairs.h"

#include "kernels/pairs_tmpl.h"

const struct ox_pairs ox_pairs_avx2 = OX_PAIRS;
