/* Messages under other names, for models that are put together from messages. */
#ifndef OX_MODEL_RENAME_H
#define OX_MODEL_RENAME_H

#include "model/model.h"
#include "proto/onnx.pb-c.h"

enum ox_name_kind {
    OX_NAME_VALUE, /* of graphs, outside functions */
    OX_NAME_NODE,  /* there too */
    OX_NAME_DIM    /* the text of a dimension, there too: a name or a formula of names */
};

struct ox_renaming {
    struct ox_model *from;  /* whose messages they are, as ox_unpack() made them */
    struct ox_arena *arena; /* for what becomes another */
    bool keep_external;     /* external data stays where it is */
    void *arg;
    /* Another name (that lives as long as the arena) or the old one, which is never "". NULL: out of memory. */
    const char *(*name)(void *arg, enum ox_name_kind kind, const char *old);
    /* The same of a function's name, and of operators that may be calls. domain is "" for ai.onnx. May be NULL: they stay. */
    const char *(*function)(void *arg, const char *domain, const char *name, const char *overload);
};

/* The message with other names in it, *out: itself where none is in it. Unless it is kept, what lies in external data becomes raw_data: a view of the
 * file, which stays open with the model it is from. OX_INPUT: external data that is not as it should be; OX_NO_MEMORY. */
enum ox_status ox_rename_message(const struct ox_renaming *renaming,
                                 const ProtobufCMessage *message, const ProtobufCMessage **out,
                                 struct ox_error *err);

#endif
