#include "kernels/x86/vec_avx512.h"

#define STATES ox_states_avx512
#include "kernels/states_tmpl.h"
