/* The list of convert-opset --steps. */
#ifndef CLI_CONVERTER_STEPS_H
#define CLI_CONVERTER_STEPS_H

#include "cli.h"

void converter_steps_print(struct ox_strbuf *out);

#endif
