#include "kernels/turns.h"

#include "kernels/turns_tmpl.h"

const struct ox_turns ox_turns_avx2 = {halves, neighbours};
