/* Protobuf's text format, read. */
#ifndef OX_MODEL_PROTO_TEXT_READ_H
#define OX_MODEL_PROTO_TEXT_READ_H

#include "model/text_lex.h"
#include "proto/onnx.pb-c.h"

/* Whether text begins with a field of a model as the text format has it ("ir_version: 8", "graph {"), behind blanks and comments. */
bool ox_proto_text_is_model(const char *text, size_t n);

/* A model from its text format (protobuf.dev's Text Format Language Specification, without extensions and Any), as a serialized ModelProto
 * from malloc. `name` is the file's, for messages. OX_INPUT names line and column: no such field, a field given twice, a value of another
 * type or out of range; OX_LIMIT when messages are nested more than limits->nesting deep; OX_NO_MEMORY. */
enum ox_status ox_proto_text_read_model(uint8_t **bytes, size_t *n_bytes, const char *text,
                                        size_t n_text, struct ox_env *env, const char *name,
                                        struct ox_error *err);

/* ---- Between the reader's files ---------------------------------------------------------------------------------- */

/* One value of a field that is no message, into its member at `to`; the lexer fails where it is none of that type. */
void ox_proto_text_value(struct ox_lexer *lex, const ProtobufCFieldDescriptor *field, void *to);

#endif
