/* --trace-nonfinite of `run` and `parity`. */
#ifndef CLI_RENDER_TRACE_H
#define CLI_RENDER_TRACE_H

#include "onnxtool.h"

/* The first NaN, infinity and flood of denormals, and what would not fit narrower types; as lines, or as the member "trace" of the
 * object that is open. */
void trace_print_text(const struct ox_trace *trace, struct ox_strbuf *out);
void trace_print_json(const struct ox_trace *trace, struct ox_json *json);

#endif
