/* Reads the packs of ONNX's backend suite that scripts/pack_suite.py writes. */
#ifndef OX_TESTS_READ_SUITE_H
#define OX_TESTS_READ_SUITE_H

#include "tensor/tensor.h"

enum suite_special { SUITE_PLAIN, SUITE_BERNOULLI, SUITE_DROPOUT };

struct suite_case {
    char name[160]; /* "node/test_abs" */
    double rtol, atol;
    enum suite_special special;
    const uint8_t *model; /* in the pack */
    size_t model_bytes;
    const uint8_t *sets; /* the data sets, not decoded yet */
    const uint8_t *end;  /* of the pack */
    size_t n_sets;
};

struct suite {
    struct suite_case *cases;
    size_t n, cap;
    uint8_t **packs;
    size_t n_packs;
};

/* Adds the cases of a pack. What is wrong with it ends the program: the packs are ours. */
void suite_add(struct suite *suite, const char *path);
void suite_release(struct suite *suite);

/* Decodes the next data set's inputs or outputs (a count and as many values) and moves *at behind them. */
size_t suite_values(const struct suite_case *of, const uint8_t **at, struct ox_datum **values,
                    size_t most);

#endif
