/* From struct ox_model to wire format: the steps that the files lower*.c and save.c share. What a part was lifted from
 * gives the fields that are not lifted. */
#ifndef OX_MODEL_LOWER_H
#define OX_MODEL_LOWER_H

#include "model/emit.h"
#include "model/model.h"

/* What becomes of an initializer's data. */
struct ox_move {
    const struct ox_stored *stored;
    uint64_t offset, bytes; /* in the external file */
    const char *location;   /* NULL: ox_lower.location */
    const char *checksum;   /* of the file; NULL */
};

struct ox_lower {
    struct ox_model *model;
    bool inline_external;
    const char *location;        /* external file of the moved initializers; NULL */
    const struct ox_move *moves; /* sorted by the address of `stored` */
    size_t n_moves;
};

/* What ox_emit_to_file() runs; arg is a struct ox_lower. */
void ox_lower_model(struct ox_emit *e, void *arg);

void ox_lower_graph(struct ox_emit *e, struct ox_lower *lower, const struct ox_graph *graph);
void ox_lower_attr(struct ox_emit *e, struct ox_lower *lower, uint32_t field,
                   const struct ox_attr *attr);
/* initializer: its data may have been moved. */
void ox_lower_stored(struct ox_emit *e, struct ox_lower *lower, uint32_t field,
                     const struct ox_stored *stored, bool initializer);
void ox_lower_sparse(struct ox_emit *e, struct ox_lower *lower, uint32_t field,
                     const struct ox_stored_sparse *sparse);
/* old: what the type replaces, for denotations and the spelling of dimensions; NULL. */
void ox_lower_type(struct ox_emit *e, const struct ox_lower *lower, uint32_t field,
                   const struct ox_type *type, const Onnx__TypeProto *old);

/* A text field that is lifted: written when it was in the file or is not empty. */
static inline void ox_lower_text(struct ox_emit *e, uint32_t field, const char *text,
                                 const char *in_file)
{
    if (in_file || (text && *text))
        ox_emit_text(e, field, text);
}

#endif
