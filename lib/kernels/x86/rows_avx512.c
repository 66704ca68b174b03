#include "kernels/x86/vec_avx512.h"

#include "kernels/x86/exp_avx512.h"
#include "kernels/x86/gelu_avx512.h"
#include "kernels/x86/swish_avx512.h"
#include "kernels/x86/turn_avx.h"

#include "kernels/rows_vec_tmpl.h"
