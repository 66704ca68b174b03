#include "kernels/x86/vec_avx2.h"

#define STATES ox_states_avx2
#include "kernels/states_tmpl.h"
