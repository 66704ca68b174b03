/* A graph of quantized values at -O0 and -O2: the same codes, and how many of which operators it has then. */
#ifndef OX_TESTS_CHECK_CODES_H
#define OX_TESTS_CHECK_CODES_H

#include "tests/run_level.h"

/* A constant: its ONNX type, shape and name, and the range of its whole values; floats are those over 64. */
struct constant {
    const char *declared; /* "int8[8,3,3,3] w" */
    int low, high;
};

struct shape {
    unsigned rank;
    int64_t dims[5];
};

/* step: what a code is worth at the output, of which one element in a hundred may be off by one; 0: the same bits. Threads must
 * change no bit. */
void check_codes(const char *graph, const struct constant *constants, size_t n_constants,
                 struct shape shape, float step, const struct want *wants, size_t n_wants);

#define CONSTANTS(...)                                                                             \
    (const struct constant[]){__VA_ARGS__},                                                        \
        sizeof((const struct constant[]){__VA_ARGS__}) / sizeof(struct constant)

/* Scales of 1/64 and 1/32 with zero points. */
#define SCALES                                                                                     \
    {"float[1] s", 1, 1}, {"uint8[1] z", 121, 121}, {"float[1] t", 2, 2},                          \
    {                                                                                              \
        "uint8[1] o", 3, 3                                                                         \
    }

#endif
