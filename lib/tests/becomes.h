/* What `optimize` makes of small graphs that take a ramp of floats. */
#ifndef OX_TESTS_BECOMES_H
#define OX_TESTS_BECOMES_H

#include "graph/pass.h"
#include "tests/run_text.h"

#define HEAD "<ir_version: 10, opset_import: [\"\" : 20]> "
#define SHAPE(...)                                                                                 \
    (const int64_t[])                                                                              \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

/* The model optimized has these operators, those of subgraphs behind slashes, and makes of a ramp what it made before. */
void becomes_with(bool subgraphs, const char *text, const char *operators, unsigned rank,
                  const int64_t *dims);
/* Of the main graph alone. */
void becomes(const char *text, const char *operators, unsigned rank, const int64_t *dims);

#endif
