/* What the layout pass and its rules share. */
#ifndef OX_GRAPH_CHANNELS_LAST_H
#define OX_GRAPH_CHANNELS_LAST_H

#include "graph/match.h"

struct ox_twins {
    struct ox_rewrite *rw;
    size_t n;               /* values that the graph had at first; those below are by id */
    struct ox_value **twin; /* with the channels last; NULL: none yet */
    bool *native; /* the twin is what is made, the value itself is made from it on demand */
    bool *made_first;
};

/* Axis d of a twin is this one of the value, and the other way round. */
static const unsigned ox_twins_first[4] = {0, 2, 3, 1};
static const unsigned ox_twins_place[4] = {0, 3, 1, 2};

/* Whether the value is made with its channels last. */
bool ox_twins_is_last(const struct ox_twins *l, const struct ox_value *value);
/* The twin of a value of rank 4, made before that node where there is none. NULL: out of memory. */
struct ox_value *ox_twins_last(struct ox_twins *l, struct ox_value *value, struct ox_node *before);
/* The node makes the twin of its output from here on. */
void ox_twins_makes(struct ox_twins *l, struct ox_node *node, size_t output);

/* Lets the node work on twins, where there is a rule and it gains; false: it stays as it is. */
bool ox_twins_convert(struct ox_twins *l, struct ox_node *node);

#endif
