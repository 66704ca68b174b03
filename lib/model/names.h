/* Names of values, nodes and dimensions that become others. */
#ifndef OX_MODEL_NAMES_H
#define OX_MODEL_NAMES_H

#include "common/arena.h"
#include "common/strmap.h"

/* From names to others, each once. */
struct ox_names {
    struct ox_strmap map;
    const char **to;
    size_t n, cap;
};
void ox_names_release(struct ox_names *names);
/* NULL: it is not there. */
const char *ox_names_find(const struct ox_names *names, const char *name);
/* Nothing where it is there already. false: out of memory. Both texts must outlive the names. */
bool ox_names_add(struct ox_names *names, const char *name, const char *to);

/* The next name in the text of a dimension ("2*seq+1") at or behind *at, which moves behind it; its length, 0: there is none. */
size_t ox_dim_next_name(const char **at, const char **name);
/* The text under other names: itself where there is none in it. NULL: out of memory. */
const char *ox_dim_rename(struct ox_arena *arena, const struct ox_names *dims, const char *text);

#endif
