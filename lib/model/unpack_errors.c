/* What ox_unpack() says when it fails, with the file's name and the byte. */
#include <inttypes.h>

#include "model/unpack_impl.h"

enum ox_status ox_no_room(const struct ox_budget *budget, uint64_t bytes, const char *name,
                          struct ox_error *err)
{
    uint64_t limit = budget ? budget->limit : 0;
    if (limit && (bytes > limit || atomic_load(&budget->used) > limit - bytes))
        return ox_fail(err, OX_LIMIT,
                       "%s: needs more than the %" PRIu64 " bytes of memory that are allowed", name,
                       limit);
    return ox_fail(err, OX_NO_MEMORY, "%s: out of memory", name);
}

enum ox_status ox_unpack_no_room(const struct ox_unpacker *u, size_t bytes)
{
    /* An arena asks for blocks of up to 1 MiB. */
    return ox_no_room(u->arena->budget, bytes > 1 << 20 ? bytes : 1 << 20, u->name, u->err);
}

enum ox_status ox_unpack_malformed(const struct ox_unpacker *u,
                                   const ProtobufCMessageDescriptor *type,
                                   const ProtobufCFieldDescriptor *field, const uint8_t *at,
                                   const char *why)
{
    return ox_fail(u->err, OX_INPUT, "%s: byte %zu: %s%s%s: %s", u->name, (size_t)(at - u->base),
                   type->short_name, field ? "." : "", field ? field->name : "", why);
}

enum ox_status ox_unpack_changed(const struct ox_unpacker *u)
{
    return ox_fail(u->err, OX_INPUT, "%s: changed while it was read", u->name);
}
