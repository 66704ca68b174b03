#include "kernels/arm/vec_neon.h"

#include "kernels/arm/turn_neon.h"

#include "kernels/rows_vec_tmpl.h"
