#include "common/grow.h"
#include "runtime/runtime.h"

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
    void *bodies = session->bodies;
    if (!ox_grow(&bodies, &session->cap_bodies, session->n_bodies, sizeof *session->bodies))
        return ox_no_memory(err);
    session->bodies = bodies;
    struct ox_model *model;
    OX_TRY(ox_model_open_function(&model, session->env, schema->body, schema->body_bytes, err));
    session->bodies[session->n_bodies++] = (struct ox_body){schema, model};
    *out = &model->functions[0];
    return OX_OK;
}
