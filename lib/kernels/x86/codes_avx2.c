#include "kernels/codes.h"

#include "kernels/codes_tmpl.h"

const struct ox_codes *ox_codes_avx2(enum ox_dtype dtype)
{
    return codes_find(dtype);
}
