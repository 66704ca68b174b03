/* A graph of one input at a level of optimization, and which nodes -O2 makes of it. */
#ifndef OX_TESTS_RUN_LEVEL_H
#define OX_TESTS_RUN_LEVEL_H

#include "tests/run_text.h"

#define HEAD "<ir_version: 10, opset_import: [\"\" : 20, \"com.microsoft\" : 1]> "

/* Elements of an input or output. */
enum { MOST = 140000 };

/* Runs it twice, as weights are packed in the first run. The first output goes to `out`, of MOST. Returns the multiply-adds that
 * the profile counts. */
uint64_t run_level(const char *text, int level, unsigned threads, unsigned rank,
                   const int64_t *dims, float *out, size_t *n_out);

struct want {
    const char *op_type;
    size_t n;
};

#define WANT(...)                                                                                  \
    (const struct want[]){__VA_ARGS__},                                                            \
        sizeof((const struct want[]){__VA_ARGS__}) / sizeof(struct want)

/* How often the operator stands in the model's graph. */
size_t count_own(const struct ox_model *model, const char *op_type);
/* Fails the test where -O2 leaves another number of them. */
void check_nodes(const char *text, const struct want *wants, size_t n);

#endif
