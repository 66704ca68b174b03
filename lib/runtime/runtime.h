/* What the parts of the runtime share: plans, frames, the session. */
#ifndef OX_RUNTIME_RUNTIME_H
#define OX_RUNTIME_RUNTIME_H

#include "common/strmap.h"
#include "ops/op.h"
#include "runtime/value_pool.h"

/* ---- Plans ------------------------------------------------------------------------------------------------------ */

/* In place of an id: the value is omitted, or another frame's. */
#define OX_NO_ID UINT32_MAX

/* A node that will run. */
struct ox_step {
    const struct ox_node *node;
    const struct ox_schema *schema; /* NULL: a domain without schemas */
    const struct ox_op *op;         /* its kernel; NULL: a function is called */
    const struct ox_function *function;
    struct ox_plan *callee; /* of the function's body */
    int64_t opset;
    const uint32_t *release; /* values that nobody needs after it */
    uint32_t n_release;
    bool keep;           /* a constant: computed once, kept in the plan */
    const uint32_t *ids; /* of the node's inputs in its frame, then of its outputs; OX_NO_ID */
    uint16_t *checked; /* type of each input when it was last found right: kind and element type */
    const char *label; /* for the profile; NULL without one */
    struct ox_prepared prepared;
    struct ox_asked *asked;   /* NULL: it runs but once, or there is nothing to ask */
    struct ox_shaped *shaped; /* outputs follow from sizes alone; NULL: not so */
};

struct ox_plan {
    const struct ox_graph *graph;
    struct ox_step *steps;
    size_t n_steps;
    /* Constants by value id, loaded when first needed: as the model has them (double in the oracle), and widened to float32 for
     * kernels that need it. */
    struct ox_datum **constants;
    struct ox_datum **wide;
    uint64_t shaped_bytes; /* of what ox_shaped_keep() keeps */
    bool shaped_off;       /* there was no memory to keep a size: nothing kept counts */
    uint64_t expanded;     /* nodes, functions and subgraphs included */
    unsigned depth;        /* of nested frames, this one included */
    bool open;             /* being made: meeting it again is recursion */
    const char *path;      /* for the profile and for who watches bodies; else NULL */
};

/* ---- Session ---------------------------------------------------------------------------------------------------- */

/* The body of a standard operator, parsed. */
struct ox_body {
    const struct ox_schema *schema;
    struct ox_model *model;
};

struct ox_session {
    struct ox_env *env;
    struct ox_model *model;   /* as given: what ports are named by */
    struct ox_model *planned; /* what runs: the model, or a rewritten copy */
    struct ox_value **made;   /* of `planned`, for each output */
    struct ox_session
        *plain; /* as the model stands, for runs that give what was taken as constant; NULL */
    struct ox_session
        *empty; /* rewritten for open sizes that are 0, which `planned` takes as at least 1; NULL */
    struct ox_session *unnamed; /* for inputs that give a name two sizes: of a copy without; NULL */
    struct ox_model *copy;      /* that copy, if this is such a one; NULL */
    char *warning;              /* of the last run, NULL: none */
    const struct ox_session *ran;  /* the last run: this one or one of those three */
    bool may_be_empty;             /* this is such a one */
    struct ox_run_options options; /* arrays are not kept */
    struct ox_arena arena;         /* plans and ports */
    struct ox_arena scratch;       /* frames and kernels, as a stack */
    struct ox_pool *pool;
    struct ox_strmap kept_of; /* what nodes share by what it depends on -> index in kept */
    struct ox_shared_state **kept;
    size_t n_kept, cap_kept;
    struct ox_strmap plan_of; /* address of a graph -> index in plans */
    struct ox_plan **plans;
    size_t n_plans, cap_plans;
    struct ox_body *bodies;
    size_t n_bodies, cap_bodies;
    struct ox_shapes *shapes; /* of `planned`, once a kernel has asked what is inferred; NULL */
    struct ox_plan *main;
    /* Ports; `place` is the index of an input among the graph's. The first n_must outputs must be made. */
    struct ox_value **inputs, **outputs;
    size_t *place;
    struct ox_port *input_ports, *output_ports;
    const int64_t **implied; /* see struct ox_rewrite_plan; NULL: nothing was rewritten */
    size_t n_inputs, n_outputs, n_must;
    uint64_t weights_bytes;
    struct ox_node_event *events;
    size_t n_events, cap_events;
    uint64_t run_start;
    /* Of the current run: */
    uint64_t n_frames;
    bool located; /* the error names a node already */
};

/* A graph that runs. */
struct ox_frame {
    struct ox_session *session;
    struct ox_plan *plan;
    struct ox_datum **slots; /* by value id */
    struct ox_frame *up;     /* who runs it: the frame of the caller */
    const struct ox_call *call;
    const struct ox_step *step; /* that runs */
    uint64_t seed;
    unsigned depth;
};

/* Before the first run: the session takes memory for values where another does. Runs in turns are then largest together, not each
 * on its own. */
void ox_session_share_memory(struct ox_session *session, const struct ox_session *other);

/* Lists inputs and outputs of the main graph as the options ask. */
enum ox_status ox_ports_make(struct ox_session *session, const struct ox_run_options *options,
                             struct ox_error *err);
/* Checks given inputs (session->n_inputs of them, NULL: default) against what the model declares: kind, element type, rank,
 * dimensions, and that a symbol has one size everywhere. *misnamed: only the last fails. */
enum ox_status ox_ports_check(const struct ox_session *session, struct ox_datum *const *inputs,
                              bool *misnamed, struct ox_error *err);

/* Plans the main graph for these outputs, and all graphs and functions that it leads to. Reports what is missing. */
enum ox_status ox_plan_make(struct ox_session *session, struct ox_error *err);
struct ox_plan *ox_plan_find(const struct ox_session *session,
                             const struct ox_graph *graph); /* NULL: none */
/* Drops constants and parsed bodies. */
void ox_plan_release(struct ox_session *session);

/* The function that a standard operator is defined by, parsed and kept; *out NULL when it has no body that stands alone. */
enum ox_status ox_body_find(struct ox_session *session, const struct ox_schema *schema,
                            const struct ox_function **out, struct ox_error *err);

/* Whether input i may be that sparse tensor as it is; without a schema it may. */
bool ox_step_takes_sparse(const struct ox_run *run, const struct ox_schema *schema, size_t i,
                          const struct ox_datum *datum);
/* Checks the types of actual inputs against the schema. */
enum ox_status ox_step_check_types(const struct ox_run *run, struct ox_step *step,
                                   struct ox_error *err);

enum ox_lend {
    OX_LEND_ANY_ADDRESS = 1, /* floats may lie at any address */
    OX_LEND_COPY = 2,        /* else it may be copied to memory that is used again */
    OX_LEND_WHOLE = 4,       /* all of it is about to be read */
    OX_LEND_ROWS =
        8 /* bytes of some of it are about to be copied: floats of 16 bits may lie at any address too */
};
/* The value of a constant for this node alone, as it lies in the file's map or copied, as `how` (of enum ox_lend) allows. Else as the
 * frame has it. A new reference. */
enum ox_status ox_frame_lend(struct ox_frame *frame, const struct ox_value *value, unsigned how,
                             struct ox_datum **out, struct ox_error *err);
/* What was packed is not needed in the map of the file any more; of fewer bytes than `least` it may stay. */
void ox_frame_forget(const struct ox_value *value, size_t least);
/* The same of an input that a node will not ask for again; one that was made in memory for this node alone is no more then. */
void ox_frame_absorbed(struct ox_frame *frame, const struct ox_node *node, size_t i);
/* Gives back the large constants that a node takes. Runs side by side would else hold every weight as often as there are
 * runs. */
void ox_frame_drop_constants(struct ox_frame *frame, const struct ox_node *node);
/* Whether a value is the same at every run: a constant that no caller may replace. */
bool ox_frame_is_fixed(struct ox_frame *frame, const struct ox_value *value);

/* Runs a graph: session, plan, up, call and depth of the frame are set. inputs: one for each of the graph's inputs (or for
 * each without an initializer), NULL: omitted. outputs get new references to the values, NULL for what was not made. */
enum ox_status ox_frame_run(struct ox_frame *frame, struct ox_datum *const *inputs, size_t n_inputs,
                            struct ox_value *const *values, size_t n_values,
                            struct ox_datum **outputs, struct ox_error *err);

/* Tells those who watch bodies of a value that this one was given or made. */
enum ox_status ox_frame_show(const struct ox_frame *frame, const struct ox_value *value,
                             struct ox_error *err);

/* The value as the frame has it: made, given, captured or constant. Borrowed; NULL when there is none. */
enum ox_status ox_frame_value(struct ox_frame *frame, const struct ox_value *value,
                              struct ox_datum **out, struct ox_error *err);
/* The value with 16-bit floats as float32: a new reference. Constants are widened once. */
enum ox_status ox_frame_wide(struct ox_frame *frame, const struct ox_value *value,
                             struct ox_datum *datum, struct ox_datum **out, struct ox_error *err);

/* Marks the steps of the main graph whose outputs follow from sizes of values alone, where runs recur. */
enum ox_status ox_shaped_plan(struct ox_session *session, struct ox_plan *plan,
                              struct ox_error *err);
/* Puts the outputs of such a step in place as an earlier run kept them; false: it must run, for sizes have changed or nothing was
 * kept. */
bool ox_shaped_take(struct ox_frame *frame, const struct ox_step *step);
/* Keeps the outputs of such a step that has run, if they are small. */
void ox_shaped_keep(struct ox_frame *frame, const struct ox_step *step);
/* Gives back all that is kept. */
void ox_shaped_drop(struct ox_plan *plan);

/* Gives back the values that nobody needs after a step. */
void ox_frame_release_values(struct ox_frame *frame, const struct ox_step *step);
/* Runs a step in its frame and puts its outputs in place. */
enum ox_status ox_step_run(struct ox_frame *frame, struct ox_step *step, struct ox_error *err);

/* struct ox_run's share(). */
struct ox_shared_state *ox_step_share(struct ox_run *r, const void *key, size_t n);
/* Forgets what nodes share, once they have given it back. */
void ox_session_release_kept(struct ox_session *session);

/* Writes down what a step took, if it is asked. */
void ox_event_add(struct ox_frame *frame, const struct ox_step *step, uint64_t start,
                  const struct ox_run *run);

/* ---- Element types of data -------------------------------------------------------------------------------------- */

/* A set of element types: bit 1 << dtype. */
#define OX_DTYPE_BIT(dtype) (1u << (dtype))
#define OX_HALF_TYPES (OX_DTYPE_BIT(OX_FLOAT16) | OX_DTYPE_BIT(OX_BFLOAT16))
#define OX_ORACLE_TYPES (OX_HALF_TYPES | OX_DTYPE_BIT(OX_FLOAT32))

/* A new reference: the datum itself when no tensor in it has one of the types, else a copy with those converted, through
 * sequences, optionals and maps. */
enum ox_status ox_datum_convert(struct ox_datum **out, struct ox_budget *budget,
                                struct ox_datum *in, unsigned types, enum ox_dtype to,
                                struct ox_error *err);
/* The same in the memory for values between nodes. */
enum ox_status ox_session_convert(struct ox_datum **out, struct ox_session *session,
                                  struct ox_datum *in, unsigned types, enum ox_dtype to,
                                  struct ox_error *err);
/* The element type of a tensor, sparse tensor, sequence or optional. */
enum ox_dtype ox_datum_dtype(const struct ox_datum *datum);
uint64_t ox_datum_bytes(const struct ox_datum *datum);

#endif
