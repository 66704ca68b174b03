/* Names from a file made fit for a message, without allocation. */
#ifndef OX_MODEL_NAME_H
#define OX_MODEL_NAME_H

#include "common/error.h"

struct ox_stored;
struct ox_model;

struct ox_name {
    char text[264];
};

/* The name escaped as ox_strbuf_name() does and cut at 256 bytes; returns shown->text. */
const char *ox_name(struct ox_name *shown, const char *name);

/* Puts `FILE: tensor "NAME": ` before the message; one without a name is called as the output of its node. */
enum ox_status ox_fail_tensor(struct ox_error *err, enum ox_status status,
                              const struct ox_model *model, const struct ox_stored *stored);
/* Puts `FILE: ` before the message and takes it out where it names that file already; nothing for a model without a file. */
enum ox_status ox_fail_model(struct ox_error *err, enum ox_status status,
                             const struct ox_model *model);

#endif
