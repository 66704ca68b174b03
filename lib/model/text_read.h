/* The ONNX textual syntax, read (docs/Syntax.md of the standard; equal to onnx's own parser's view). */
#ifndef OX_MODEL_TEXT_READ_H
#define OX_MODEL_TEXT_READ_H

#include "model/text_lex.h"
#include "proto/onnx.pb-c.h"

/* A model from its text, as a serialized ModelProto from malloc. `name` is the file's, for messages. OX_INPUT names line and
 * column; OX_LIMIT when graphs or types are nested more than limits->nesting deep; OX_NO_MEMORY. */
enum ox_status ox_text_read(uint8_t **bytes, size_t *n_bytes, const char *text, size_t n_text,
                            struct ox_env *env, const char *name, struct ox_error *err);

/* ---- Between the reader's files ---------------------------------------------------------------------------------- */

/* A lexer at the start of text whose messages go to the arena. */
void ox_text_begin(struct ox_lexer *lex, struct ox_arena *arena, const char *text, size_t n,
                   struct ox_env *env, const char *name, struct ox_error *err);

/* A repeated field of messages that grows in the lexer's arena: room for one more, which the caller counts. */
void *ox_text_grow(struct ox_lexer *lex, void *items, size_t n, size_t item_bytes);
#define OX_TEXT_APPEND(lex, array, count, value)                                                   \
    do {                                                                                           \
        void *ox_grown = ox_text_grow((lex), (array), (count), sizeof *(array));                   \
        if (ox_grown) {                                                                            \
            (array) = ox_grown;                                                                    \
            (array)[(count)++] = (value);                                                          \
        }                                                                                          \
    } while (0)

/* A fresh message of that descriptor; NULL with the lexer failed when out of memory. */
void *ox_text_message(struct ox_lexer *lex, const ProtobufCMessageDescriptor *descriptor);

bool ox_text_next_is_type(struct ox_lexer *lex);
Onnx__TypeProto *ox_text_type(struct ox_lexer *lex);
/* What follows type and name of a tensor: '{' values '}' or '[' external data ']'. The type gives dims and element type. */
Onnx__TensorProto *ox_text_tensor(struct ox_lexer *lex, const Onnx__TypeProto *type, char *name);
void ox_text_string_pairs(struct ox_lexer *lex, Onnx__StringStringEntryProto ***pairs, size_t *n);
Onnx__GraphProto *ox_text_graph(struct ox_lexer *lex);

/* Deeper by one level; false with the lexer failed when that is too deep. Ends with ox_text_leave(). */
bool ox_text_enter(struct ox_lexer *lex);
void ox_text_leave(struct ox_lexer *lex);

#endif
