/* The parts of matching two models. */
#ifndef OX_PARITY_PAIRING_H
#define OX_PARITY_PAIRING_H

#include "parity/pairs.h"

enum { OX_MOST_GAP = 48 };

struct ox_gap_side {
    const struct ox_prints *prints;
    const uint64_t
        *matched; /* by value id: the same number on both sides of a pair; 0: not paired */
};

struct ox_gap_pair {
    const struct ox_value *a, *b;
};

/* The values before a pair (a, b), back to those that are paired, where both sides have the same nodes there but for the
 * constants and one node, which is another operator or missing on one side; 0: they do not, or nothing lies between. */
size_t ox_match_gap(const struct ox_gap_side *side_a, const struct ox_gap_side *side_b,
                    const struct ox_value *a, const struct ox_value *b,
                    struct ox_gap_pair pairs[OX_MOST_GAP]);

/* A fingerprint of what is made of a value within so many nodes behind it: operators, constants, places of inputs. */
uint64_t ox_match_context(const struct ox_prints *prints, const struct ox_value *value,
                          unsigned steps);

/* For B's values by id, calloc'ed into *partner: A's value of that name, or the one that is the same where names mislead; NULL: none. */
enum ox_status ox_match_names(const struct ox_graph *a, const struct ox_graph *b,
                              const struct ox_value ***partner, struct ox_error *err);

#endif
