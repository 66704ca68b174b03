/* From messages to struct ox_model: the steps that the files lift*.c share. */
#ifndef OX_MODEL_LIFT_H
#define OX_MODEL_LIFT_H

#include "model/model.h"
#include "model/unpack.h"

/* Lifts model->proto: graphs, functions, training graphs. */
enum ox_status ox_lift_model(struct ox_model *model, struct ox_error *err);

/* A graph still empty, listed in model->graphs, to be filled in its turn. */
enum ox_status ox_lift_new_graph(struct ox_graph **out, struct ox_model *model,
                                 const Onnx__GraphProto *proto, struct ox_error *err);

/* NULL gives NULL. */
enum ox_status ox_lift_type(const struct ox_type **out, struct ox_model *model,
                            const Onnx__TypeProto *proto, struct ox_error *err);
void ox_lift_stored(struct ox_stored *out, const Onnx__TensorProto *proto);
enum ox_status ox_lift_sparse(struct ox_stored_sparse *out, struct ox_model *model,
                              const Onnx__SparseTensorProto *proto, struct ox_error *err);
/* owner: the node, or NULL for a function's defaults; graphs in them belong to scope and function. */
enum ox_status ox_lift_attrs(struct ox_attr **out, struct ox_model *model,
                             Onnx__AttributeProto *const *protos, size_t n, struct ox_node *owner,
                             struct ox_function *function, struct ox_error *err);

/* Zeroed memory of the model for n things; *out NULL when n is 0. */
enum ox_status ox_model_array(void *out, struct ox_model *model, size_t n, size_t bytes,
                              struct ox_error *err);

/* "ai.onnx" and NULL are "". */
const char *ox_domain(const char *domain);
static inline const char *ox_text(const char *text)
{
    return text ? text : "";
}
enum ox_dtype ox_dtype_of(int32_t data_type);
bool ox_dim_is_unnamed(const char *name);

#endif
