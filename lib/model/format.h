/* The forms that a model comes in, and the door by which those that are not protobuf enter. */
#ifndef OX_MODEL_FORMAT_H
#define OX_MODEL_FORMAT_H

#include "model/model.h"

/* What a file is that people take for a model ("a zip archive"), by its first bytes; NULL: nothing known. */
const char *ox_format_foreign(const uint8_t *bytes, size_t n);
/* Adds to the message in err of bytes that are no protobuf what may have become of them: cut off, never downloaded whole, taken for
 * text. Returns OX_INPUT. */
enum ox_status ox_format_explain(const char *path, const uint8_t *bytes, size_t n,
                                 struct ox_error *err);

/* By the ending: .txt, .onnxtxt and .onnxtext are text, .json and .onnxjson JSON, .textproto, .txtpb, .prototxt and .pbtxt protobuf's text
 * format, anything else protobuf. */
enum ox_format ox_format_of_name(const char *path);

/* The model as protobuf bytes, appended to `out`; external data stays by reference. */
enum ox_status ox_model_to_buffer(struct ox_model *model, struct ox_strbuf *out,
                                  struct ox_error *err);

#endif
