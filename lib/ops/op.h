/* Operators: a row each. A row serves from its `since` to the next row of that name in its domain; a missing field is a
 * missing capability, reported by name before anything runs.
 *
 * A family file holds shape rule and reference kernel side by side and ends in its rows:
 *
 *     const struct ox_op ox_ops_reduce[] = {
 *         {"", "ReduceSum", 1, .infer = infer_reduce_attr, .run = run_reduce_sum},
 *         {"", "ReduceSum", 13, .infer = infer_reduce_input, .run = run_reduce_sum},
 *         {0}};
 *
 * and is listed in ops/families.def. */
#ifndef OX_OPS_OP_H
#define OX_OPS_OP_H

#include "model/model.h"
#include "schema/schema.h"
#include "tensor/tensor.h"

struct ox_infer;
struct ox_run;

enum {
    /* The kernel has float16 and bfloat16 (and float8, where allowed) of its own or moves bytes without looking. Without it a
     * node with such inputs is run by the executor in float32 and its float outputs are rounded once at the end. */
    OX_OP_HALF = 1,
    /* The kernel's outputs keep float types in --oracle instead of being widened (none do by default). */
    OX_OP_KEEP_FLOAT = 2,
    /* Takes sequences, optionals, maps, sparse tensors: inputs may be other than tensors. */
    OX_OP_ANY_KIND = 4,
    /* Its prepare(), and its kernel in the run after it, read float32 constants at any address where the machine can. */
    OX_OP_ANY_ADDRESS = 16,
    /* Random without a seed attribute: never folded, never merged. */
    OX_OP_RANDOM = 8,
    /* What it makes depends on the very type of its inputs, or on how they are rounded: -O2 gives it 16-bit floats as such. */
    OX_OP_ROUNDED = 32,
    /* Its fast form has float64 too. */
    OX_OP_DOUBLE = 64,
    /* What prepare() leaves serves strings too. */
    OX_OP_TEXT = 128,
    /* Of its first input a run moves rows, floats of 16 or 32 bits from any address. */
    OX_OP_ROWS = 256
};

struct ox_op {
    const char *domain;
    const char *name;
    int since;
    unsigned flags;
    void (*infer)(struct ox_infer *c);
    enum ox_status (*run)(struct ox_run *r, struct ox_error *err);
    /* A faster form for -O2, used instead of `run` when every float among the inputs is float32 (or, with OX_OP_DOUBLE, float64; 16-bit floats of a row without
     * OX_OP_HALF were widened by then). It may decline a case by returning OX_UNSUPPORTED before it made an output: then
     * `run` serves. */
    enum ox_status (*fast)(struct ox_run *r, struct ox_error *err);
    /* Called once a node at -O2, at its first run and before it, with the inputs of that run; r->fixed tells which are the
     * same at every run. Leaves what it makes of them with ox_run_keep() and ox_run_absorb(). Only if `fast` (or, without a fast
     * form, `run`) will serve. After it absorbed an input the kernel cannot decline. */
    enum ox_status (*prepare)(struct ox_run *r, struct ox_error *err);
};

/* The domain of operators that rewriting makes (version 1); their rows need no schema. */
#define OX_OWN_DOMAIN "onnxtool"

/* The row that serves a node's operator at its opset; NULL: none. */
const struct ox_op *ox_op_find(const char *domain, const char *name, int64_t opset);

/* ---- What a kernel sees ------------------------------------------------------------------------------------------ *
 *
 * The executor has checked, by the schema: arity, required inputs, element types, attribute types. A kernel checks values:
 * shapes that must agree, indices, attribute ranges. Errors go through ox_run_fail(), which names the node. */

/* No tensor that a kernel meets has more dimensions, and none that it makes may have. */
enum { OX_MOST_RANK = 64 };

/* What nodes have in common whose prepare() would leave the same: the runtime's, for as long as nodes run. */
struct ox_shared_state {
    void *state; /* NULL: not made yet, or given back */
    size_t bytes;
    size_t refs; /* nodes */
    bool ready;  /* prepare() has returned: it stays as it is */
};

/* What prepare() left with a node: one block of memory that the runtime gives back with the session, or behind the node in a model
 * that is run but once, so that the next node packs its weights where these lay. */
struct ox_prepared {
    void *state; /* NULL: nothing */
    size_t bytes;
    struct ox_shared_state *shared; /* that the state is; NULL: it is this node's own */
    struct ox_tensor *lent; /* of the run's memory, where the state lies; NULL: in its own pages */
    uint64_t
        absorbed; /* bit i: input i is in the state; it is not loaded any more, and r->in[i] is NULL */
    bool again; /* prepare() sets it to be called before the next run too */
    bool asked, done;
};

struct ox_asked;

struct ox_run {
    struct ox_env *env;
    const struct ox_node *node;
    const struct ox_schema *schema; /* NULL for unknown domains */
    int64_t opset;                  /* version of the node's domain that the graph imports */
    struct ox_datum *const *in;     /* n_in of them, NULL: omitted */
    size_t n_in;
    struct ox_datum **out;    /* n_out of them, all NULL at first; filled by the kernel */
    size_t n_out;             /* as in the node; an output that the node omits need not be made */
    struct ox_arena *scratch; /* given back when the kernel returns */
    bool oracle;              /* floats are double: inputs came so, ox_run_out() makes them so */
    const struct ox_call
        *call;      /* the function call that the node stands in, for attribute references; NULL */
    void *executor; /* the runtime's own */
    /* Runs a subgraph of this node: takes references on inputs, gives new references in outputs (n_outputs of the graph). Set
     * by the runtime. */
    enum ox_status (*subgraph)(struct ox_run *r, const struct ox_graph *graph,
                               struct ox_datum *const *inputs, size_t n_inputs,
                               struct ox_datum **outputs, size_t n_outputs, struct ox_error *err);
    /* What inference tells of a value of this node's subgraphs where the file does not; NULL: nothing. It lives as long as the
     * executor. Set by the runtime; NULL: never asked. */
    const struct ox_type *(*inferred)(struct ox_run *r, const struct ox_value *value);
    /* What nodes with these `fixed` inputs have in common under a key; NULL: nothing, or out of memory. Set by the runtime; NULL: nothing is
     * shared. */
    struct ox_shared_state *(*share)(struct ox_run *r, const void *key, size_t n);
    uint64_t
        seed; /* for random operators without a seed of their own: differs a node, the same a run */
    const struct ox_op *op; /* the row that runs; NULL: flags do not matter */
    /* Memory for ox_run_tensor(); NULL: ox_tensor_new(). Set by the runtime, which uses blocks again. */
    enum ox_status (*alloc)(struct ox_run *r, enum ox_dtype dtype, unsigned rank,
                            const int64_t *dims, struct ox_tensor **out, struct ox_error *err);
    /* Whether nobody needs the memory of input i after this node; NULL: no. Set by the runtime. */
    bool (*is_last_use)(const struct ox_run *r, size_t i);
    struct ox_asked
        *asked; /* attributes that runs before have asked for; NULL: each is looked for */
    struct ox_prepared *prepared; /* NULL below -O2 and where nothing is kept */
    struct ox_tensor *work[8];    /* of ox_run_work() */
    struct ox_run_lent *lent;     /* large pieces of ox_run_scratch() */
    const bool *fixed;            /* in prepare(): n_in of them */
    bool saturating; /* u8 by s8 as processors without VNNI add them; see ox_run_options */
    bool
        once; /* the node will be run but once: what is packed is not kept, and only what pays is */
};

/* A tensor of the executor's memory where it lends some, else of its own; not zeroed. */
enum ox_status ox_run_tensor(struct ox_run *r, enum ox_dtype dtype, unsigned rank,
                             const int64_t *dims, struct ox_tensor **out, struct ox_error *err);
/* Work memory of a kernel that is large or often asked for: neither zeroed nor asked of the system every time, 64-byte aligned,
 * at most 8 pieces. NULL with *err set. It is given back when the kernel has returned. */
void *ox_run_work(struct ox_run *r, size_t count, size_t size, struct ox_error *err);
/* Gives back what the executor lent, for work and as scratch, before scratch itself is given back. */
void ox_run_release_work(struct ox_run *r);

/* In prepare(): memory that stays with the node, 64-byte aligned and not zeroed, as r->prepared->state. NULL with *err set. Once
 * a node. */
void *ox_run_keep(struct ox_run *r, size_t bytes, struct ox_error *err);
/* The same where other nodes may need what it will hold: `key` is all that this depends on but for the operator and the inputs that are
 * fixed, n bytes. *made: it holds that already, of another node. Nobody writes to it once prepare() has returned. */
void *ox_run_keep_shared(struct ox_run *r, const void *key, size_t n, size_t bytes, bool *made,
                         struct ox_error *err);
/* In prepare(): input i (< 64) is not needed again. */
void ox_run_absorb(struct ox_run *r, size_t i);
/* What prepare() left; NULL. */
void *ox_run_state(const struct ox_run *r);
/* Gives back what ox_run_keep() took: prepare() may be called again. */
void ox_prepared_release(struct ox_prepared *prepared, struct ox_budget *budget);
/* Makes output i in the memory of input k where that is its last use and the sizes agree, else anew: for kernels that read each
 * element of input k before they write that of output i. */
enum ox_status ox_run_out_reuse(struct ox_run *r, size_t i, size_t k, enum ox_dtype dtype,
                                unsigned rank, const int64_t *dims, struct ox_tensor **out,
                                struct ox_error *err);

/* The tensor of input i; NULL when omitted (or i >= n_in). The kind was checked. */
const struct ox_tensor *ox_run_in(const struct ox_run *r, size_t i);
bool ox_run_has(const struct ox_run *r, size_t i);
/* Whether output i is used by name. */
bool ox_run_wants(const struct ox_run *r, size_t i);

/* What tensors of a type are held in: in oracle mode float16, bfloat16 and float32 become float64. */
enum ox_dtype ox_run_dtype(const struct ox_run *r, enum ox_dtype dtype);
/* Makes output i, uninitialized, in ox_run_dtype() of its type, so dispatch on (*out)->dtype. */
enum ox_status ox_run_out(struct ox_run *r, size_t i, enum ox_dtype dtype, unsigned rank,
                          const int64_t *dims, struct ox_tensor **out, struct ox_error *err);
/* Output i shares data of `of` in another shape. */
enum ox_status ox_run_out_view(struct ox_run *r, size_t i, const struct ox_tensor *of,
                               unsigned rank, const int64_t *dims, struct ox_error *err);
/* Output i is that datum (a reference is taken). */
enum ox_status ox_run_out_datum(struct ox_run *r, size_t i, const struct ox_datum *datum,
                                struct ox_error *err);
/* Output i is that tensor (a reference is taken). */
enum ox_status ox_run_out_tensor(struct ox_run *r, size_t i, const struct ox_tensor *tensor,
                                 struct ox_error *err);

/* Zeroed memory until the kernel returns; NULL with *err set when out of memory. */
void *ox_run_scratch(struct ox_run *r, size_t count, size_t size, struct ox_error *err);

/* "Gather 'node_3' (opset 13): index 7 is outside [-4, 3]": the part after the colon is the format. Returns status. */
enum ox_status ox_run_fail(const struct ox_run *r, struct ox_error *err, enum ox_status status,
                           const char *format, ...) OX_PRINTF(4, 5);
/* Whether list, an input that the message calls `what`, is one of n elements; NULL passes. OX_INPUT. */
enum ox_status ox_run_check_list(const struct ox_run *r, const struct ox_tensor *list, int64_t n,
                                 const char *what, struct ox_error *err);

/* Checks a node's arity and attributes against its schema. OX_INPUT. */
enum ox_status ox_node_check(struct ox_env *env, const struct ox_node *node,
                             const struct ox_schema *schema, int64_t opset, struct ox_error *err);
/* The same of all nodes of which there is a schema: what relies on those is not to come upon others. */
enum ox_status ox_nodes_check(const struct ox_model *model, struct ox_error *err);

/* "Gather 'node_3' (opset 13)": how ox_run_fail() begins. */
void ox_run_where(const struct ox_run *r, struct ox_strbuf *out);

/* Attributes, references of functions resolved. Defaults of the schema apply when the node has none: the fallback given here
 * serves where the schema has no default. A name is a literal, which later runs know again by its address; whoever puts one
 * together sets r->asked to NULL before. */
const struct ox_attr *ox_run_attr(const struct ox_run *r,
                                  const char *name); /* of the node (or call) only; NULL */
int64_t ox_run_int(const struct ox_run *r, const char *name, int64_t fallback);
float ox_run_float(const struct ox_run *r, const char *name, float fallback);
/* NUL-terminated in the model's or schema's memory; NULL when neither has it. */
const char *ox_run_string(const struct ox_run *r, const char *name);
/* NULL and *n = 0 when there is none; an empty list is not NULL. */
const int64_t *ox_run_ints(const struct ox_run *r, const char *name, size_t *n);
const float *ox_run_floats(const struct ox_run *r, const char *name, size_t *n);
const struct ox_str *ox_run_strings(const struct ox_run *r, const char *name, size_t *n);
const struct ox_graph *ox_run_graph(const struct ox_run *r, const char *name);
/* *out NULL when there is none; the caller releases it. */
enum ox_status ox_run_tensor_attr(const struct ox_run *r, const char *name, struct ox_tensor **out,
                                  struct ox_error *err);

/* An axis attribute or value made non-negative. Rank 0 has no axis: an operator that allows one there asks before. */
enum ox_status ox_run_axis(const struct ox_run *r, int64_t axis, unsigned rank, unsigned *out,
                           struct ox_error *err);

/* A function call: the node and its function, for attributes by reference; chained outward. */
struct ox_call {
    const struct ox_node *node;
    const struct ox_function *function;
    const struct ox_schema *schema; /* of a standard function run by its body */
    const struct ox_call *outer;
};

#endif
