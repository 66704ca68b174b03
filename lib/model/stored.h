/* Tensors between messages and memory, for the other files of this folder. */
#ifndef OX_MODEL_STORED_H
#define OX_MODEL_STORED_H

#include "model/emit.h"
#include "model/model.h"

/* ox_stored_load(); with copy nothing of the result lies in the model's map. */
enum ox_status ox_stored_read(struct ox_model *model, const struct ox_stored *stored, bool copy,
                              struct ox_tensor **out, struct ox_error *err);

/* The fields of a TensorProto that holds the tensor, all but the name when that is NULL; numbers go to raw_data, strings to
 * string_data. */
void ox_emit_tensor(struct ox_emit *e, const struct ox_tensor *tensor, const char *name);

/* A model with nothing in it. name: the file's in messages. */
enum ox_status ox_model_new(struct ox_model **out, struct ox_env *env, const char *name,
                            struct ox_error *err);
/* The same for reading other files by the same rules: the file mapped, nothing of it read, and its folder known. */
enum ox_status ox_model_map(struct ox_model **out, struct ox_env *env, const char *path,
                            struct ox_error *err);

#endif
