#include "schema/param.h"

const struct ox_schema_param *ox_param_at(const struct ox_schema_param *params, size_t n, size_t i)
{
    if (i < n)
        return &params[i];
    return n && params[n - 1].option == OX_PARAM_VARIADIC ? &params[n - 1] : NULL;
}

bool ox_param_is_required(const struct ox_schema_param *param)
{
    return param && param->option != OX_PARAM_OPTIONAL;
}
