/* Protobuf's canonical JSON mapping, read. */
#ifndef OX_MODEL_JSON_READ_H
#define OX_MODEL_JSON_READ_H

#include "common/env.h"

/* A model from its JSON, as a serialized ModelProto from malloc. Field names in lowerCamelCase or as in the .proto; enums by
 * name or number; 64-bit integers as strings or numbers; bytes in base64. `name` is the file's, for messages. OX_INPUT
 * names the path of the member at fault; OX_LIMIT past limits->json_depth; OX_NO_MEMORY. */
enum ox_status ox_json_read_model(uint8_t **bytes, size_t *n_bytes, const char *text, size_t n_text,
                                  struct ox_env *env, const char *name, struct ox_error *err);

#endif
