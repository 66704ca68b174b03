#include <stdlib.h>
#include <string.h>

#include "runtime/runtime.h"

enum { WRAP_BYTES = 32 };

static size_t put_varint(uint8_t *to, uint64_t value)
{
    size_t n = 0;
    for (; value >= 0x80; value >>= 7)
        to[n++] = (uint8_t)(value | 0x80);
    to[n++] = (uint8_t)value;
    return n;
}

/* A ModelProto whose only function is the body, so that it is read by the one reader that there is. */
static uint8_t *wrap(struct ox_session *session, const struct ox_schema *schema, size_t *n)
{
    uint8_t *bytes = ox_arena_alloc(&session->arena, schema->body_bytes + WRAP_BYTES);
    if (!bytes)
        return NULL;
    size_t at = 0;
    bytes[at++] = 1 << 3; /* ir_version */
    bytes[at++] = OX_ONNX_IR_VERSION;
    bytes[at++] = 8 << 3 | 2; /* opset_import */
    bytes[at++] = 2;
    bytes[at++] = 2 << 3; /* version */
    bytes[at++] = (uint8_t)schema->body_opset;
    at += put_varint(bytes + at, 25 << 3 | 2); /* functions */
    at += put_varint(bytes + at, schema->body_bytes);
    memcpy(bytes + at, schema->body, schema->body_bytes);
    *n = at + schema->body_bytes;
    return bytes;
}

enum ox_status ox_body_find(struct ox_session *session, const struct ox_schema *schema,
                            const struct ox_function **out, struct ox_error *err)
{
    for (size_t i = 0; i < session->n_bodies; i++) {
        if (session->bodies[i].schema == schema) {
            *out = &session->bodies[i].model->functions[0];
            return OX_OK;
        }
    }
    *out = NULL;
    if (!schema->body)
        return OX_OK;
    if (session->n_bodies == session->cap_bodies) {
        size_t cap = session->cap_bodies ? session->cap_bodies * 2 : 8;
        struct ox_body *more = realloc(session->bodies, cap * sizeof *more);
        if (!more)
            return ox_no_memory(err);
        session->bodies = more;
        session->cap_bodies = cap;
    }
    size_t n;
    const uint8_t *bytes = wrap(session, schema, &n);
    if (!bytes)
        return ox_no_memory(err);
    struct ox_model *model;
    OX_TRY(ox_model_open_memory(&model, session->env, bytes, n, NULL, err));
    if (model->n_functions != 1) {
        ox_model_release(model);
        return ox_fail(err, OX_INTERNAL, "the body of %s %d is no function", schema->name,
                       schema->since);
    }
    session->bodies[session->n_bodies++] = (struct ox_body){schema, model};
    *out = &model->functions[0];
    return OX_OK;
}
