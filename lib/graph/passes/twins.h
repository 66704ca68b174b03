/* What the layout pass and its rules share. */
#ifndef OX_GRAPH_TWINS_H
#define OX_GRAPH_TWINS_H

#include "graph/match.h"

/* Maps have one axis of pixels to three. */
enum { OX_TWINS_RANK_MIN = 3, OX_TWINS_RANK_MAX = 5 };

struct ox_twins {
    struct ox_rewrite *rw;
    size_t n;               /* values that the graph had at first; those below are by id */
    struct ox_value **twin; /* with the channels last; NULL: none yet */
    bool *native; /* the twin is what is made, the value itself is made from it on demand */
    bool *made_first;
};

/* Axis d of a twin is this one of the value, and the other way round: both of that rank. */
static inline unsigned ox_twins_first(unsigned rank, unsigned d)
{
    return d == 0 ? 0 : d + 1 < rank ? d + 1 : 1;
}

static inline unsigned ox_twins_place(unsigned rank, unsigned d)
{
    return d == 0 ? 0 : d == 1 ? rank - 1 : d - 1;
}

/* Whether the value is made with its channels last. */
bool ox_twins_is_last(const struct ox_twins *l, const struct ox_value *value);
/* The twin of a map, made before that node where there is none. NULL: out of memory. */
struct ox_value *ox_twins_last(struct ox_twins *l, struct ox_value *value, struct ox_node *before);
/* The node makes the twin of its output, which has that rank, from here on. */
void ox_twins_makes(struct ox_twins *l, struct ox_node *node, size_t output, unsigned rank);

/* Makes the value itself from its twin before that node (NULL: at the end), if it is not made yet. */
void ox_twins_need_first(struct ox_twins *l, struct ox_value *value, struct ox_node *before);

/* channels_last_rules.c: lets the node work on twins, where there is a rule and it gains; false: it stays as it is. */
bool ox_twins_convert(struct ox_twins *l, struct ox_node *node);

#endif
