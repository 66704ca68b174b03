#include "ops/op.h"

#include <string.h>

#define OX_FAMILY(name) extern const struct ox_op ox_ops_##name[];
#include "ops/families.def"
#undef OX_FAMILY

static const struct ox_op *const families[] = {
#define OX_FAMILY(name) ox_ops_##name,
#include "ops/families.def"
#undef OX_FAMILY
    NULL};

const struct ox_op *ox_op_find(const char *domain, const char *name, int64_t opset)
{
    const struct ox_op *best = NULL;
    for (size_t i = 0; families[i]; i++)
        for (const struct ox_op *op = families[i]; op->name; op++)
            if (op->since <= opset && (!best || op->since > best->since) &&
                strcmp(op->name, name) == 0 && strcmp(op->domain, domain) == 0)
                best = op;
    return best;
}
