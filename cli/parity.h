/* The parts of `parity`. */
#ifndef CLI_PARITY_H
#define CLI_PARITY_H

#include "run.h"

struct parity_args {
    struct run_args run;       /* inputs, as `run` takes them */
    struct opt_strings levels; /* -O0, -O2: of A, of B */
    struct opt_strings cpus, engines;
    const char *engine_options;
    double engine_timeout;
    const char *expected;
    const char *other_seed; /* of the inputs of a second run of A, its reference */
    int64_t samples;        /* 0: as many as there are */
    double rtol, atol;
    struct opt_strings tolerances, require;
    struct opt_strings pairs; /* A=B: outputs that are held against each other under other names */
    int agreement;            /* enum ox_agreement */
    double quantile;
    bool nan_agrees;
    bool metric, layers, bisect, oracle;
    bool perturb; /* with layers */
    int format;
    const char *output;
};

enum parity_format { PARITY_TEXT, PARITY_JSON, PARITY_HTML, PARITY_JUNIT };
#define PARITY_FORMATS "text|json|html|junit"

/* Who computes: a model by ourselves, or by a program of its own. */
struct parity_side {
    const char *model_path;
    const char *engine; /* NULL: this process */
    const char *cpu;    /* a process of our own with that processor level; NULL */
    int level;
    bool draws;                       /* its own inputs, from --against-seed */
    uint64_t seed_gap;                /* what its seed is above A's */
    struct run run;                   /* model, session, one sample's inputs and outputs */
    bool shares_model;                /* with the first side */
    char label[256];                  /* "model.onnx", "onnxruntime" */
    char version[128];                /* of the engine; "" */
    struct ox_datum **double_outputs; /* --oracle: the same in double precision; NULL */
    struct ox_session *double_session;
    struct ox_ties *near_ties;        /* of that session; NULL */
    struct ox_datum **tipped_outputs; /* in double precision, all ties on their other side; NULL */
    struct ox_session *tipped_session;
    struct ox_datum **saturated_outputs; /* A's against an engine that departs; NULL */
    struct ox_session *saturating_session;
    /* --layers of an engine: the values that it is asked for, by name in order, and what it made of them; NULL: it gave none. */
    const char **asked;
    struct ox_datum **recorded;
    size_t n_asked;
};

/* One output of A against one reference. */
struct parity_output {
    char *name;
    size_t side; /* of the reference */
    bool in_a, in_b;
    struct ox_meter *meter;
    struct ox_metrics metrics;
    char failed[128]; /* the requirement that was missed; "" */
    /* --oracle: largest error of each side against double precision, and what float32 would have. */
    struct ox_meter *a_truth, *b_truth, *truths; /* truths NULL: B is what is expected */
    struct ox_meter *tipped; /* how far ties move it in double precision; NULL: there are none */
    struct ox_metrics a_error, b_error, truth_difference;
    /* A with products that saturate, and as it is, against an engine over the samples from the first that departs; NULL. */
    struct ox_meter *saturated, *exact;
    struct ox_metrics saturated_difference;
    char products[256]; /* what that tells; "" */
    const char *chance; /* the operator that draws random numbers for what departs; NULL */
    const char *nearer; /* "a", "b", "equal" */
    char verdict[320];
};

/* A requirement of --require: a metric that must not pass a bound. */
struct parity_bound {
    char name[32];
    bool at_least;
    double value;
};

struct parity {
    struct cli *cli;
    const struct parity_args *args;
    struct parity_side *sides; /* [0] is A, the others are what it is held against */
    size_t n_sides;
    const char *expected; /* a reference that is no side: the last "side" of outputs; NULL */
    struct parity_output *outputs;
    size_t n_outputs;
    struct parity_bound *bounds;
    size_t n_bounds;
    bool tolerance_counts;   /* a verdict by tolerance, not by --require alone */
    uint64_t n_samples;      /* 0 until the inputs are known */
    struct ox_datum **given; /* inputs of A as the files have them, perhaps with all samples */
    struct ox_datum **
        wide; /* those of the sample, before floats took the width that A has; B is fed from them */
    struct test_sets sets;           /* --test-data, a folder a sample */
    struct ox_parity *layers;        /* --layers, --bisect; NULL */
    struct ox_parity_causes *causes; /* of the first divergence; NULL */
    struct ox_trace *trace;          /* --trace-nonfinite; NULL */
    struct ox_session *trace_session;
    size_t first; /* layer that departs first; SIZE_MAX */
    /* Found by prefixes; value NULL: none. Of expected outputs the output itself, whose node is not known: op_type is NULL. */
    struct ox_parity_suspect suspect;
    char *probed; /* the value of the last prefix that departed; NULL */
    struct ox_datum *probed_values[2];
    struct ox_metrics probed_metrics;
    /* The search has met a tie and goes on: codes a step apart agree, and a value departs at so many decibels or fewer. */
    bool past_ties;
    double departs_db;
    char ties[512];             /* what became of the tie; "" */
    struct ox_parity_cause tie; /* that, as one cause more */
    bool exact_alone;           /* saturating products make no difference */
    bool agree;
};

/* ---- parity_verdict.c ---- */

/* What the other side calls an output of A. */
const char *parity_other_name(const struct parity *p, const char *name);
/* The output of A that the other side calls so; the number of outputs: there is none. */
size_t parity_output_called(const struct parity *p, const char *other);

/* ---- parity_sides.c ---- */

/* Makes the sides that operands and options ask for and opens their models. */
enum ox_status parity_open_sides(struct parity *p, const char *const *operands, size_t n_operands);
void parity_release_sides(struct parity *p);
/* The outputs of all sides for the current inputs, in step where layers are asked for. */
enum ox_status parity_run_sample(struct parity *p);
/* Whether this process computes it. */
bool parity_is_ours(const struct parity_side *side);
/* Whether the sides walk in step: layers are asked for, and both sides are this process's. */
bool parity_walks(const struct parity *p);
/* Of random operators: every session of a side draws the same numbers. */
uint64_t parity_seed(const struct parity_side *side);
/* Feeds all sides with that sample again. */
enum ox_status parity_reload_sample(struct parity *p, uint64_t sample);

/* ---- parity_record.c ---- */

/* Has the engines among the sides compute every value that the walk compares, on the current inputs. */
enum ox_status parity_record(struct parity *p);
/* For ox_parity_options.recorded; arg is the side. */
enum ox_status parity_recorded(void *arg, const char *name, struct ox_datum **out,
                               struct ox_error *err);
/* The outputs of such sides: as recorded. */
void parity_take_outputs(struct parity *p);
void parity_release_record(struct parity_side *side);

/* ---- parity_explain.c ---- */

/* Finds the first layer that departs, and why. */
enum ox_status parity_explain(struct parity *p);
/* What is known of it, in order; NULL past the last. */
const struct ox_parity_cause *parity_cause(const struct parity *p, size_t i);
/* That layer; of what prefixes found only node, operator (NULL: these are not known) and value are known. False: nothing departs, or it was not asked. */
bool parity_first_layer(const struct parity *p, struct ox_parity_layer *layer);

/* ---- parity_prefix.c ---- */

/* The first node that departs where a side's inside can't be seen; to p->suspect. */
enum ox_status parity_bisect_prefixes(struct parity *p);
void parity_release_prefixes(struct parity *p);

/* ---- parity_inputs.c ---- */

/* Reads what files give and counts the samples. */
enum ox_status parity_read_inputs(struct parity *p);
/* Puts sample i in the inputs of A. */
enum ox_status parity_load_sample(struct parity *p, uint64_t i);
void parity_release_inputs(struct parity *p);
/* Sample i of n of a value whose first dimension are samples: a new datum. */
enum ox_status parity_slice(struct ox_env *env, const struct ox_datum *all, uint64_t i,
                            struct ox_datum **out, struct ox_error *err);

/* ---- parity_expected.c ---- */

/* What is expected of a sample. */
struct parity_wants {
    struct ox_expected *items;
    size_t n;
};

/* Holds the outputs of A for sample i against --expected (or the files output_K.pb of its folder), or, where wants is not NULL,
 * puts there what is expected. */
enum ox_status parity_take_expected(struct parity *p, uint64_t i, struct parity_wants *wants);
void parity_release_wants(struct parity_wants *wants);

/* ---- parity_engine.c ---- */

/* Values by name. */
struct parity_feed {
    const char *const *names;
    struct ox_datum *const *values;
    size_t n;
};

/* Runs `onnxtool-engine-NAME MODEL IN.npz OUT.npz` on what is fed (NULL: the side's inputs) and reads the n outputs of those names. */
enum ox_status parity_run_engine(struct parity *p, struct parity_side *side, const char *model_path,
                                 const struct parity_feed *feed, const char *const *names, size_t n,
                                 struct ox_datum **outputs);
/* OX_UNSUPPORTED when there is no such program; fills side->version. */
enum ox_status parity_find_engine(struct parity *p, struct parity_side *side);

/* ---- parity_verdict.c ---- */

/* --require and --tol, taken apart. */
enum ox_status parity_read_bounds(struct parity *p);
void parity_options_for(const struct parity *p, const char *output,
                        struct ox_metrics_options *options);
/* The entry of that output against that reference; made when it is not there. NULL: out of memory. */
struct parity_output *parity_output_of(struct parity *p, const char *name, size_t side);
/* Reads the meters, applies --require and sets p->agree. */
void parity_judge(struct parity *p);

/* ---- parity_truth.c ---- */

/* --oracle: holds the current outputs of all sides against double precision. */
enum ox_status parity_measure_truth(struct parity *p);
/* Then, where no side but A is there, what is expected of an output against A in double precision. */
enum ox_status parity_measure_expected(struct parity *p, struct parity_output *output,
                                       const struct ox_datum *expected);
/* Where an engine departs: holds it against A with products of uint8 by int8 that saturate too. */
enum ox_status parity_measure_products(struct parity *p);
/* What both say of the outputs, once parity_judge() has read their meters. */
enum ox_status parity_judge_truth(struct parity *p);

/* ---- parity_text.c, parity_json.c, parity_html.c, parity_junit.c ---- */

void parity_print_text(struct parity *p, struct ox_strbuf *out);
void parity_print_json(struct parity *p, struct ox_strbuf *out);
void parity_print_html(struct parity *p, struct ox_strbuf *out);
void parity_print_junit(struct parity *p, struct ox_strbuf *out);
/* The name of what output is held against. */
const char *parity_reference(const struct parity *p, size_t side);

#endif
