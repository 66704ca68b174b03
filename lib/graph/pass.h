/* Rewriting: passes over a model, each a file and a row in passes.def.
 *
 * A pass is called with one graph at a time (the main graph and subgraphs; functions are left alone). It looks with what
 * match.h offers and changes by the ox_rw_*() functions below, which keep the index of uses current; it may read graph->nodes
 * by index meanwhile, passing over those that ox_rw_gone() tells: removed nodes leave, and new ones take their
 * places, when the pass has returned. Lack of memory is kept in the context, so that passes need not look at every result:
 * pointers that may be NULL then are said so. */
#ifndef OX_GRAPH_PASS_H
#define OX_GRAPH_PASS_H

#include "ops/op.h"
#include "shape/shapes.h"

struct ox_rewrite;

struct ox_pass {
    const char *name, *help;
    int level;
    bool standard;
    unsigned
        phases; /* a set: passes of a phase run in turn until none changes anything, then those of the next */
    enum ox_status (*run)(struct ox_rewrite *rw, struct ox_graph *graph, struct ox_error *err);
};

enum { OX_FOLD_BYTES = 16 << 20, OX_FOLD_SHARE = 10 };

/* What the runner is asked for. */
struct ox_rewrite_plan {
    int level;
    const char *const *passes; /* NULL: all of the level */
    size_t n_passes;
    const char *const *keep;
    size_t n_keep;
    bool only_kept; /* the graph's outputs are needed only if they are among those kept */
    bool
        to_run; /* the result runs here and now: own operators are allowed, and inputs that have an initializer are constant */
    bool
        own_forms; /* passes that leave what is not standard ONNX may be asked for: the caller makes it so */
    /* By input of the main graph: its sizes where nodes tell such as its declaration leaves open, -1: those that they do not tell
     * either; of the model's arena. The result holds for no others. NULL: nobody asks; its elements: nothing is told. */
    const int64_t **implied;
    bool repeats; /* it runs again and again: what each run would work out anew may take memory */
    bool correct_types; /* stored types that contradict the nodes are replaced */
    bool may_be_empty;  /* open sizes of inputs may be 0; else they are taken to be at least 1 */
    uint64_t
        fold_bytes; /* that constants may grow by; 0: ox_fold_bytes(), in a single run OX_FOLD_BYTES */
};

/* OX_FOLD_BYTES, or the model's constants over OX_FOLD_SHARE where that is more: what is folded may stand beside what it is made of. */
uint64_t ox_fold_bytes(const struct ox_model *model);
enum ox_status ox_rewrite_model(struct ox_model *model, const struct ox_rewrite_plan *plan,
                                struct ox_optimize_report *report, struct ox_error *err);

/* ---- The context ------------------------------------------------------------------------------------------------ */

struct ox_use {
    struct ox_node *node;
    uint32_t input;
    struct ox_use *next;
};

struct ox_rewrite {
    struct ox_model *model;
    struct ox_env *env;
    struct ox_arena arena;   /* until the end of rewriting */
    struct ox_arena scratch; /* of the pass; may be marked and rewound */
    bool to_run, may_be_empty;
    bool once;          /* it runs once: what is prepared must pay at once */
    uint64_t fold_left; /* bytes that constants may still grow by */
    uint64_t fold_room; /* bytes of new constants that there may still be in between */
    uint64_t fold_lent; /* bytes of turned weights that are to be quantized yet */
    uint64_t wide_room; /* bytes that 8-bit weights may still become */
    size_t n_changes;   /* of the pass */
    bool failed;        /* out of memory */
    /* The rest is for the functions below. */
    struct ox_strmap kept;
    uint64_t
        kept_lengths; /* of those names: bit n % 64 for n characters, so that most values need no look into the map */
    bool only_kept;
    struct ox_shapes *shapes;
    uint32_t *n_known; /* values of each graph when shapes were inferred */
    size_t n_graphs_known;
    const struct ox_graph **clashing; /* see ox_rw_clashes() */
    size_t n_clashing;
    struct ox_strmap loaded; /* address of an initializer -> index in constants */
    struct ox_tensor **constants;
    size_t n_constants, cap_constants;
    struct ox_strmap op_of; /* operator, domain and version -> index in ops */
    const struct ox_op **ops;
    size_t n_ops, cap_ops;
    /* The graph at hand: */
    struct ox_graph *graph;
    struct ox_use **uses; /* by value id */
    uint32_t *n_uses;
    bool *pinned; /* by value id: needed outside of the graph's nodes, under its name */
    size_t cap_values;
    bool *gone;       /* by node index */
    uint32_t *before; /* of new nodes: index of the node before which it goes */
    size_t cap_nodes, n_old;
};

/* ---- Looking ---------------------------------------------------------------------------------------------------- */

static inline bool ox_rw_gone(const struct ox_rewrite *rw, const struct ox_node *node)
{
    return rw->gone[node->index];
}
/* Whether a node of the graph, as the file has it, would be refused if it ran (ox_shapes_clashes()): the graph is left as it stands,
 * that what runs it refuses it as well. */
bool ox_rw_clashes(const struct ox_rewrite *rw, const struct ox_graph *graph);
/* Uses by nodes of the graph at hand, in no order; NULL: none. */
const struct ox_use *ox_rw_uses(const struct ox_rewrite *rw, const struct ox_value *value);
size_t ox_rw_n_uses(const struct ox_rewrite *rw, const struct ox_value *value);
/* Whether the value must stay under its name: an output, kept by request, or captured by a subgraph. */
bool ox_rw_is_pinned(const struct ox_rewrite *rw, const struct ox_value *value);
/* The only node that uses a value that is not pinned, once; NULL. */
struct ox_node *ox_rw_only_user(const struct ox_rewrite *rw, const struct ox_value *value);
/* The row that serves a node; NULL: none. */
const struct ox_op *ox_rw_op(struct ox_rewrite *rw, const struct ox_node *node);
/* What is inferred of the value's type, or declared of a new one; NULL: nothing. */
const struct ox_type *ox_rw_type(struct ox_rewrite *rw, const struct ox_value *value);
/* Whether the value is an initializer that nobody replaces; its shape is in value->init (of the outermost, if captured). */
const struct ox_stored *ox_rw_stored(const struct ox_rewrite *rw, const struct ox_value *value);
/* Its elements, loaded; kept until rewriting ends. NULL: no constant, or it cannot be read. */
const struct ox_tensor *ox_rw_const(struct ox_rewrite *rw, const struct ox_value *value);
/* The constant of a value that nothing uses any more leaves the graph, and memory where a pass made it. */
void ox_rw_drop_const(struct ox_rewrite *rw, struct ox_value *value);
/* Integers and bools that inference can tell, constants included; NULL. */
const struct ox_tensor *ox_rw_known(struct ox_rewrite *rw, const struct ox_value *value);

/* Hands the nodes of that operator of ai.onnx (NULL: of any), in order, to `look_at`: those that were there when the pass began, are
 * there when their turn comes, and make something. OX_TIMEOUT: time is up. */
enum ox_status ox_rw_each(struct ox_rewrite *rw, const struct ox_graph *graph, const char *op_type,
                          void (*look_at)(struct ox_rewrite *rw, struct ox_node *node),
                          struct ox_error *err);

/* ---- Changing: each counts as a change -------------------------------------------------------------------------- */

/* A new value of that type (NULL: not known). NULL: out of memory. */
struct ox_value *ox_rw_value(struct ox_rewrite *rw, const char *name, const struct ox_type *type);
/* A new constant; takes a reference. NULL: out of memory. */
struct ox_value *ox_rw_constant(struct ox_rewrite *rw, const char *name,
                                const struct ox_tensor *tensor);
struct ox_value *ox_rw_floats(struct ox_rewrite *rw, const char *name, unsigned rank,
                              const int64_t *dims, const float *data);
struct ox_value *ox_rw_ints(struct ox_rewrite *rw, const char *name, size_t n, const int64_t *data);
/* A new node, placed before `before` (NULL: at the end), called `name`. NULL: out of memory. */
struct ox_node *ox_rw_insert(struct ox_rewrite *rw, struct ox_node *before, const char *op_type,
                             const char *domain, const char *name, struct ox_value *const *inputs,
                             size_t n_inputs, struct ox_value *const *outputs, size_t n_outputs);
/* A copy of a subgraph without inputs, of an attribute of the node, takes the node's place and makes its outputs. The subgraph's
 * data must be readable. */
void ox_rw_take_subgraph(struct ox_rewrite *rw, struct ox_node *node, const struct ox_graph *body);
/* Turns a node into another that makes the same outputs. Attributes stay; ox_rw_clear_attrs() drops them. */
void ox_rw_become(struct ox_rewrite *rw, struct ox_node *node, const char *op_type,
                  const char *domain, struct ox_value *const *inputs, size_t n_inputs);
void ox_rw_clear_attrs(struct ox_rewrite *rw, struct ox_node *node);
/* The node takes over what another carries beside its inputs and outputs: attributes, name, and place in the file. */
void ox_rw_inherit(struct ox_node *node, const struct ox_node *from);
void ox_rw_set_input(struct ox_rewrite *rw, struct ox_node *node, size_t i, struct ox_value *value);
/* The node makes `value` as output i from here on (whoever made it must be removed); what it made before is undefined. */
void ox_rw_set_output(struct ox_rewrite *rw, struct ox_node *node, size_t i,
                      struct ox_value *value);
/* All uses of `old` become uses of `by`. false: old is pinned, nothing was done. */
bool ox_rw_replace(struct ox_rewrite *rw, struct ox_value *old, struct ox_value *by);
/* Takes out a node whose output equals `same`: its users get that, or, where the output must stay under its name, the producer of
 * `same` makes the output itself. false: neither can be, nothing was done. */
bool ox_rw_bypass(struct ox_rewrite *rw, struct ox_node *node, struct ox_value *same);
/* A value of a subgraph of the graph at hand stands for `value` from here on, as ox_value_capture() says. */
bool ox_rw_capture(struct ox_rewrite *rw, struct ox_value *inner, struct ox_value *value);
/* The node is not needed: it leaves. */
void ox_rw_remove(struct ox_rewrite *rw, struct ox_node *node);
/* The initializer stands for what the node made. */
void ox_rw_fold(struct ox_rewrite *rw, struct ox_node *node, size_t output,
                const struct ox_tensor *tensor);
/* Memory until the pass ends; NULL: out of memory, which the context keeps. */
void *ox_rw_scratch(struct ox_rewrite *rw, size_t n, size_t size);
/* Types of new values: float32 of that rank with these dims (NULL elements: unknown; dims NULL: all). NULL: out of memory. */
const struct ox_type *ox_rw_tensor_type(struct ox_rewrite *rw, enum ox_dtype elem, unsigned rank,
                                        const struct ox_expr *const *dims);

/* ---- The passes ------------------------------------------------------------------------------------------------- */

#define OX_PASS(name, function, phases, level, standard, help)                                     \
    enum ox_status function(struct ox_rewrite *rw, struct ox_graph *graph, struct ox_error *err);
#include "graph/passes.def"
#undef OX_PASS

#endif
