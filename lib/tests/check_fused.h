/* A graph at -O0 and -O2: the same results, and how many of which operators it has then. */
#ifndef OX_TESTS_CHECK_FUSED_H
#define OX_TESTS_CHECK_FUSED_H

#include "tests/run_level.h"

/* Initializers named w0, w1, ... of these shapes, in the text syntax: values between -0.5 and 0.5; positive ones where a '+' comes
 * before the shape. */
void add_weights(struct ox_strbuf *text, const char *const *shapes, size_t n);

/* `graph` without its head and weights. Threads must change no bit, merging not more than some of the multiply-adds. */
void check_fused(const char *graph, const char *const *shapes, size_t n_shapes, unsigned rank,
                 const int64_t *dims, const struct want *wants, size_t n_wants);

#define LIST(...)                                                                                  \
    (const char *const[]){__VA_ARGS__}, sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *)
#define DIMS(...)                                                                                  \
    sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t), (const int64_t[])                    \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

#endif
