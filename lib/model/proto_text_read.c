/* The text format to messages, driven by the generated descriptors; then packed, to enter by the same door as any file. */
#include "model/proto_text_read.h"

#include <string.h>

#include "model/message.h"
#include "model/text_read.h"
#include "model/unpack.h"

static const ProtobufCFieldDescriptor *find_field(const ProtobufCMessageDescriptor *type,
                                                  struct ox_str word)
{
    for (unsigned i = 0; i < type->n_fields; i++)
        if (ox_str_is(word, type->fields[i].name))
            return &type->fields[i];
    return NULL;
}

static void fields(struct ox_lexer *lex, ProtobufCMessage *message, char end);

static void value(struct ox_lexer *lex, const ProtobufCFieldDescriptor *field, void *to)
{
    if (field->type != PROTOBUF_C_TYPE_MESSAGE) {
        ox_proto_text_value(lex, field, to);
        return;
    }
    const char end = ox_lex_take(lex, '<') ? '>' : '}';
    if (end == '}')
        ox_lex_expect(lex, '{');
    ProtobufCMessage *message = ox_text_message(lex, field->descriptor);
    *(ProtobufCMessage **)to = message;
    if (message && ox_text_enter(lex)) {
        fields(lex, message, end);
        ox_text_leave(lex);
    }
}

static void one_more(struct ox_lexer *lex, const ProtobufCFieldDescriptor *field,
                     ProtobufCMessage *message)
{
    size_t *n = (size_t *)((char *)message + field->quantifier_offset);
    char **items = (char **)((char *)message + field->offset);
    char *grown = ox_text_grow(lex, *items, *n, ox_field_bytes(field));
    if (!grown)
        return;
    *items = grown;
    value(lex, field, grown + *n * ox_field_bytes(field));
    ++*n;
}

/* "[1, 2]" */
static void list(struct ox_lexer *lex, const ProtobufCFieldDescriptor *field,
                 ProtobufCMessage *message)
{
    if (field->label != PROTOBUF_C_LABEL_REPEATED)
        ox_lex_fail(lex, "'%s' takes one value, not a list", field->name);
    if (ox_lex_take(lex, ']'))
        return;
    do
        one_more(lex, field, message);
    while (ox_lex_take(lex, ','));
    ox_lex_expect(lex, ']');
}

static void single(struct ox_lexer *lex, const ProtobufCFieldDescriptor *field,
                   ProtobufCMessage *message)
{
    const ProtobufCFieldDescriptor *rival = ox_message_rival(message, field);
    if (rival)
        ox_lex_fail(lex, "'%s' beside '%s', of which there is one", field->name, rival->name);
    if (ox_message_has(message, field))
        ox_lex_fail(lex, "'%s' is given twice", field->name);
    value(lex, field, (char *)message + field->offset);
    ox_message_mark(message, field);
}

static void one_field(struct ox_lexer *lex, ProtobufCMessage *message)
{
    const struct ox_str word = ox_lex_peek_word(lex);
    const ProtobufCFieldDescriptor *field = find_field(message->descriptor, word);
    if (word.n == 0)
        ox_lex_fail(lex, "name of a field expected");
    else if (!field)
        ox_lex_fail(lex, "%s has no field '%.*s'", message->descriptor->short_name,
                    (int)(word.n < 64 ? word.n : 64), word.p);
    if (!ox_lex_ok(lex))
        return;
    lex->at += word.n;
    if (!ox_lex_take(lex, ':') && field->type != PROTOBUF_C_TYPE_MESSAGE)
        ox_lex_fail(lex, "':' expected");
    if (ox_lex_take(lex, '['))
        list(lex, field, message);
    else if (field->label == PROTOBUF_C_LABEL_REPEATED)
        one_more(lex, field, message);
    else
        single(lex, field, message);
    if (!ox_lex_take(lex, ','))
        ox_lex_take(lex, ';');
}

/* To the bracket that closes the message, or with 0 to the end of the text. */
static void fields(struct ox_lexer *lex, ProtobufCMessage *message, char end)
{
    while (ox_lex_ok(lex)) {
        ox_lex_peek(lex);
        if (lex->at == lex->end) {
            if (end)
                ox_lex_fail(lex, "'%c' expected", end);
            return;
        }
        if (end && ox_lex_take(lex, end))
            return;
        one_field(lex, message);
    }
}

bool ox_proto_text_is_model(const char *text, size_t n)
{
    struct ox_lexer lex = {.start = text, .at = text, .end = text + n};
    if (!find_field(&onnx__model_proto__descriptor, ox_lex_word(&lex)))
        return false;
    const char next = ox_lex_peek(&lex);
    return next == ':' || next == '{' || next == '<';
}

enum ox_status ox_proto_text_read_model(uint8_t **bytes, size_t *n_bytes, const char *text,
                                        size_t n_text, struct ox_env *env, const char *name,
                                        struct ox_error *err)
{
    struct ox_arena arena;
    struct ox_lexer lex;
    ox_arena_init(&arena, ox_env_budget(env));
    ox_text_begin(&lex, &arena, text, n_text, env, name, err);
    ProtobufCMessage *model = ox_text_message(&lex, &onnx__model_proto__descriptor);
    if (model)
        fields(&lex, model, '\0');
    enum ox_status status = lex.status;
    if (status == OX_OK)
        status = ox_message_pack(bytes, n_bytes, model, name, err);
    ox_arena_release(&arena);
    return status;
}
