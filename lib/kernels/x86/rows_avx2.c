#include "kernels/x86/vec_avx2.h"

#include "kernels/x86/turn_avx.h"

#include "kernels/rows_vec_tmpl.h"
