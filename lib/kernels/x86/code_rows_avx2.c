#include "kernels/code_rows.h"

#include "kernels/code_rows_tmpl.h"

const struct ox_codes *ox_codes_avx2(enum ox_dtype dtype)
{
    return codes_find(dtype);
}
