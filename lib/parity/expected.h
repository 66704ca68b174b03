/* A model whose outputs depart from those expected of it, and the readings under which they would not: other values in its inputs,
 * other forms of its outputs, other conventions of its nodes. Each is tried by running it. */
#ifndef OX_PARITY_EXPECTED_H
#define OX_PARITY_EXPECTED_H

#include "parity/causes.h"

enum { OX_MOST_READINGS = 200, OX_MOST_OF_INPUTS = 120, OX_READING_TEXT = 512, OX_AXIS_RANK = 8 };

/* An output and what is expected of it. */
struct ox_expected_pair {
    size_t output; /* of the session */
    const char *name;
    struct ox_datum *expected; /* in the output's own shape where only dimensions of 1 differ */
    struct ox_metrics_options metrics;
    bool agrees;    /* as the model stands */
    double max_abs; /* so; NaN where shapes differ */
};

struct ox_expecting {
    struct ox_model *model,
        *newer; /* newer: the same in a newer opset, made when it is needed; NULL */
    bool tried_newer;
    struct ox_env *env;
    const struct ox_parity_options *options;
    struct ox_session *session; /* of the model as it stands */
    struct ox_datum *const *inputs;
    size_t n_inputs, n_outputs;
    struct ox_datum **outputs; /* as the model stands */
    struct ox_expected_pair *pairs;
    size_t n_pairs;
    struct ox_parity_causes *causes;
    size_t n_runs, n_readings, n_agree;
    size_t most_runs; /* of the family at work and those before */
    /* The reading that brought the largest difference down most. */
    double nearest, nearest_from, nearest_to;
    char nearest_text[OX_READING_TEXT], nearest_output[64];
};

/* A reading: where it stands among those that agree, and "'x' times 255". */
struct ox_reading {
    int weight;
    const char *id;
    const char *text;
};

/* What came of one. */
struct ox_verdict {
    bool ran, agrees;
    bool changed; /* outputs are other than the model's own */
};

/* A session of that model, on the engine as the options say. */
enum ox_status ox_expecting_open(const struct ox_expecting *e, struct ox_model *model,
                                 struct ox_session **session, struct ox_error *err);
/* Whether as many were run as may be. */
bool ox_expecting_is_full(const struct ox_expecting *e);
/* Runs the model on other inputs, or another model on the same, and keeps what came nearer. A run that fails is none, unless
 * memory is what it lacks, or it was cancelled. */
enum ox_status ox_expecting_try_inputs(struct ox_expecting *e, const struct ox_reading *reading,
                                       struct ox_datum *const *inputs, struct ox_verdict *verdict,
                                       struct ox_error *err);
enum ox_status ox_expecting_try_model(struct ox_expecting *e, const struct ox_reading *reading,
                                      struct ox_model *model, struct ox_verdict *verdict,
                                      struct ox_error *err);
/* Holds a value against what is expected of a pair. Where both agree by chance in all elements, as constants do, it tells
 * nothing; that is the caller's to see. */
enum ox_status ox_expecting_compare(const struct ox_expecting *e,
                                    const struct ox_expected_pair *pair, const struct ox_datum *is,
                                    const struct ox_datum *expected, struct ox_metrics *out,
                                    struct ox_error *err);
/* Whether an agreement tells something: the difference is clearly less than it was. */
bool ox_expecting_is_clear(double before, double after);

/* The families, simplest first: outputs under each other's names; forms of outputs; inputs; nodes. */
enum ox_status ox_expecting_exchange(struct ox_expecting *e, struct ox_error *err);
enum ox_status ox_expecting_forms(struct ox_expecting *e, struct ox_error *err);
enum ox_status ox_expecting_inputs(struct ox_expecting *e, struct ox_error *err);
enum ox_status ox_expecting_nodes(struct ox_expecting *e, struct ox_error *err);

/* The elements of `in`, seen as `dims` (of at most OX_AXIS_RANK), with axes in the order of perm, in the shape `out_dims`. */
enum ox_status ox_expected_permute(struct ox_tensor **out, struct ox_env *env,
                                   const struct ox_tensor *in, unsigned rank, const int64_t *dims,
                                   const unsigned *perm, unsigned out_rank, const int64_t *out_dims,
                                   struct ox_error *err);

/* ---- Changes of a node that are more than an attribute's value: in a copy of the model. *changed: it took place. */

enum ox_status ox_change_softmax(struct ox_node *node, bool *changed, struct ox_error *err);
enum ox_status ox_change_gelu(struct ox_node *node, bool *changed, struct ox_error *err);
enum ox_status ox_change_erf(struct ox_node *node, bool *changed, struct ox_error *err);
enum ox_status ox_change_pads(struct ox_node *node, bool *changed, struct ox_error *err);
enum ox_status ox_change_same_upper(struct ox_node *node, bool *changed, struct ox_error *err);
enum ox_status ox_change_same_lower(struct ox_node *node, bool *changed, struct ox_error *err);

#endif
