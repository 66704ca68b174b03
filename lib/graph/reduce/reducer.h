/* What searching for the smallest part and making parts share; ox_reduce() is in onnxtool.h. */
#ifndef OX_GRAPH_REDUCE_REDUCER_H
#define OX_GRAPH_REDUCE_REDUCER_H

#include "model/model.h"

struct ox_recorded {
    const char *name; /* of the model that was run */
    struct ox_datum *value;
};

struct ox_reduction {
    const struct ox_reduce_options *options;
    struct ox_reduced *told;
    struct ox_model *given;
    struct ox_model *recorded_from; /* given, or with its functions where they are called */
    struct ox_model **kept;         /* that failed: each uses what those before it have made */
    size_t n_kept, cap_kept;
    struct ox_recorded *values;
    size_t n_values;
    bool recorded_sizes, recorded_all;
    size_t most_errors;     /* what the checker finds in the whole */
    struct ox_arena arena;  /* of `asked` */
    struct ox_strmap asked; /* prints of parts that were asked for */
    bool stopped;
};

/* The smallest that fails so far. */
struct ox_model *ox_reduction_best(const struct ox_reduction *r);

/* ---- reduce_part.c: a part in the making ------------------------------------------------------------------------- */

enum ox_cut_to {
    OX_CUT_TO_INPUTS, /* short integer values, which say sizes, become constants all the same */
    OX_CUT_TO_CONSTANTS
};

struct ox_remnant {
    struct ox_reduction *r;
    struct ox_model *model;
    struct ox_shapes *shapes;
    struct ox_value **outputs; /* room for all values of the main graph */
    size_t n_outputs;
    bool fits; /* false: there is no such part */
};

/* A copy of a model that failed. After each of these functions `fits` may be false; they fail for want of resources alone.
 * In any case ox_remnant_end(). */
enum ox_status ox_remnant_begin(struct ox_remnant *part, struct ox_reduction *r,
                                const struct ox_model *base, struct ox_error *err);
/* Nodes of the main graph, by place, go with all that only they need. What others take of them is cut; what only they took is an
 * output if they made one. */
enum ox_status ox_remnant_remove(struct ox_remnant *part, const bool *remove, enum ox_cut_to cut_to,
                                 struct ox_error *err);
/* A node of any graph gives way to its input k, which is of its output's type; k = its n_inputs: nobody takes what it makes. */
enum ox_status ox_remnant_bypass(struct ox_remnant *part, size_t graph, size_t node, size_t k,
                                 struct ox_error *err);
/* Graph k of an attribute comes in the place of the node of the main graph that has it. */
enum ox_status ox_remnant_open(struct ox_remnant *part, size_t node, const char *attr, size_t k,
                               struct ox_error *err);
/* Asks for it; when it fails, it is the best from here on. OX_CANCELLED: r->stopped, or the caller's own. */
enum ox_status ox_remnant_end(struct ox_remnant *part, enum ox_status status, bool *fails,
                              struct ox_error *err);

/* ---- reduce_record.c ----------------------------------------------------------------------------------------------- */

/* The tensor that a value of that name was in the run; NULL: not known. Without `all`, only of what says sizes. */
enum ox_status ox_reduction_value(struct ox_reduction *r, const char *name, bool all,
                                  const struct ox_tensor **tensor, struct ox_error *err);
/* An integer or bool of rank 0 or 1. */
bool ox_says_size(const struct ox_type *type);

#endif
