/* --extract IN,...:OUT,...: a part of a model. */
#ifndef CLI_EXTRACT_OPTION_H
#define CLI_EXTRACT_OPTION_H

#include "cli.h"

/* Cuts the model down to what spec names; shapes are those of the whole. Names may hold colons. OX_USAGE: spec names nothing that is
 * there, and the model is as it was. Does not report errors: `command` stands in their messages. */
enum ox_status extract_part(const char *command, const char *spec, struct ox_model *model,
                            const struct ox_shapes *shapes, struct ox_error *err);

#endif
