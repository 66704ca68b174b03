/* What the parts of parity share: pairs of values, the walkers that make them, and what is asked of a pair that departs. */
#ifndef OX_PARITY_PAIRS_H
#define OX_PARITY_PAIRS_H

#include <pthread.h>

#include "common/strmap.h"
#include "runtime/runtime.h"

enum ox_match { OX_MATCH_NAME, OX_MATCH_STRUCTURE, OX_MATCH_PLACE };

/* A value that both models make. */
struct ox_pair {
    const struct ox_value *a, *b;
    enum ox_match match;
    const char *a_node, *b_node;                      /* labels of their producers */
    struct ox_meter *meter, *own, *a_truth, *b_truth; /* made when first needed */
    struct ox_datum *held[7];                         /* by role; of the current run */
    struct ox_meter *noisy,
        *swayed;    /* B's node of inputs with noise, B of model inputs with noise */
    unsigned have;  /* roles that have made it, as bits */
    uint64_t bytes; /* of what the first of them made */
    bool awaited;   /* by all others, until A dequantizes it */
    const struct ox_value *dequantized; /* A's value once it went through Q and DQ; NULL */
    struct ox_meter *qdq, *cross;       /* that against A's value before, and against B's */
    bool mismatched_shape;              /* matched by structure, but the shapes say otherwise */
    bool suspect;                       /* so, but its node takes the same on both sides */
};

/* Pairs of what two sessions make, in B's order; *out is calloc'ed. */
enum ox_status ox_match_sessions(const struct ox_session *a, const struct ox_session *b,
                                 struct ox_pair **out, size_t *n, struct ox_error *err);

/* Fingerprints of all values that a session makes, by value id, for ox_match_sessions(). */
struct ox_prints {
    uint64_t *content; /* of constants: their elements in any order; 0: none */
    uint64_t *strong;  /* operators, attributes, weights, wiring; 0: none */
    uint64_t *weak;    /* operators and wiring alone */
    uint64_t *anchor;  /* operator and largest weight, whatever comes in; 0: it has none of size */
    bool *constant;    /* depends on no input */
    bool *
        passed_on; /* a node that changes nothing in kind follows: that one's output stands for both */
};
/* Reads the constants. */
enum ox_status ox_prints_make(struct ox_prints *prints, const struct ox_session *session,
                              struct ox_error *err);
/* Strong, weak and anchor prints, where values that have one in `matched` (by id, not 0; NULL: none) are known by that alone. */
enum ox_status ox_prints_wire(struct ox_prints *prints, const struct ox_session *session,
                              const uint64_t *matched, struct ox_error *err);
/* What enters the product or convolution behind a value that has an anchor; NULL: more than one thing does. */
const struct ox_value *ox_prints_source(const struct ox_prints *prints,
                                        const struct ox_value *value);
void ox_prints_release(struct ox_prints *prints);

/* Where A has no Relu or Clip because integers clip by themselves: what it dequantizes stands for what B clips. */
void ox_match_clipped(const struct ox_session *a, struct ox_pair *pairs, size_t n);
/* Where A quantizes and dequantizes a paired value: fills pair->dequantized. */
void ox_match_dequantized(const struct ox_session *a, struct ox_pair *pairs, size_t n,
                          const struct ox_strmap *pair_of);

/* NOISY: B in double precision, each node fed what B has, with noise; SWAYED: B with noise in the inputs of the model alone. */
enum ox_role {
    OX_ROLE_B,
    OX_ROLE_A,
    OX_ROLE_OWN,
    OX_ROLE_A_DOUBLE,
    OX_ROLE_B_DOUBLE,
    OX_ROLE_NOISY,
    OX_ROLE_SWAYED,
    OX_N_ROLES
};

/* A run of A, and one whose failure is no matter. */
static inline bool ox_role_is_of_a(enum ox_role role)
{
    return role == OX_ROLE_A || role == OX_ROLE_OWN || role == OX_ROLE_A_DOUBLE;
}
static inline bool ox_role_is_double(enum ox_role role)
{
    return role == OX_ROLE_A_DOUBLE || role == OX_ROLE_B_DOUBLE || role == OX_ROLE_NOISY;
}
static inline bool ox_role_may_fail(enum ox_role role)
{
    return role == OX_ROLE_OWN || role == OX_ROLE_NOISY || role == OX_ROLE_SWAYED;
}

struct ox_walker {
    struct ox_parity *parity;
    enum ox_role role;
    struct ox_session *session;
    pthread_t thread;
    bool active, started, finished;
    uint64_t ahead; /* bytes of what it has made and others have not: it waits for them */
    struct ox_datum *const *inputs;
    struct ox_datum **outputs;
    enum ox_status status;
    struct ox_error err;
    struct ox_strmap pair_of;        /* name -> index of the pair */
    struct ox_strmap dequantized_of; /* A: name of what DQ makes -> the pair of what went in */
};

/* A compared value and what is computed from it. */
struct ox_layer_users {
    size_t n, n_apart; /* values computed from it; those that depart still */
    double sqnr_db;    /* of the value itself */
    bool at_fault;     /* it departs, and not for being but a step on another way */
};

struct ox_parity {
    struct ox_env *env;
    struct ox_model *models[2];
    struct ox_parity_options options;
    struct ox_walker walkers[OX_N_ROLES];
    struct ox_pair *pairs;
    size_t n_pairs;
    size_t *compared; /* indices of those that were, in order */
    size_t n_compared;
    struct ox_layer_users *users; /* of each of those; scratch of ox_parity_first() */
    size_t n_rounded, rounded;    /* passed by for 16-bit rounding: how many, and the first */
    double noise;                 /* share of each number */
    struct ox_arena labels;
    /* One walker at a time, in turns. */
    pthread_mutex_t lock;
    pthread_cond_t moved;
    int turn;
    bool failed;
    /* When only one value of A and B is asked for: its pair, and what they made of it. */
    const struct ox_pair *wanted;
    struct ox_datum *found[2];
};

/* Runs all walkers in step; the first error of one that matters ends all. With parity->wanted only A and B, until both have
 * made that value: then they are cancelled. */
enum ox_status ox_walk_in_step(struct ox_parity *parity, struct ox_error *err);
/* What A and B make of a pair's value, at their own levels: references, NULL where a side makes none on this way. */
enum ox_status ox_parity_fetch(struct ox_parity *parity, const struct ox_pair *pair,
                               struct ox_datum *const *a_inputs, struct ox_datum *const *b_inputs,
                               struct ox_datum **a, struct ox_datum **b, struct ox_error *err);
/* For ox_run_options.on_replace; arg is the walker. */
enum ox_status ox_step_value(void *arg, const char *name, struct ox_datum **value,
                             struct ox_error *err);

/* ---- Causes -------------------------------------------------------------------------------------------------------- */

struct ox_parity_causes {
    struct ox_arena arena;
    struct ox_parity_cause *items;
    int *weights;
    size_t n, capacity;
    bool failed;
};

/* Evidence in words, heavier first; out of memory is kept in `failed`. */
void ox_cause_add(struct ox_parity_causes *causes, int weight, const char *id, const char *format,
                  ...) OX_PRINTF(4, 5);

#endif
