/* Models of one node drawn at random: any operator of the standard at any of its versions. */
#ifndef OX_TESTS_RANDOM_NODE_H
#define OX_TESTS_RANDOM_NODE_H

#include "onnxtool.h"
#include "schema/schema.h"

struct random_node {
    const struct ox_schema *row;
    size_t constraint; /* whose type varies */
    const char *type;  /* "tensor(float)" */
    uint64_t round;    /* decides all that is drawn */
};

enum {
    /* Rounds that give all inputs one shape and no optional attribute; those behind draw both. */
    RANDOM_PLAIN_ROUNDS = 8
};

/* The model in the textual syntax; false: the operator takes what cannot be drawn. */
bool random_node_write(struct ox_strbuf *out, const struct random_node *of);

#endif
