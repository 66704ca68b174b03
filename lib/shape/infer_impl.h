/* What the files of shape/ share: the state of an inference and of the rule that runs. */
#ifndef OX_SHAPE_INFER_IMPL_H
#define OX_SHAPE_INFER_IMPL_H

#include "check/findings.h"
#include "ops/infer.h"
#include "ops/op.h"
#include "shape/shapes.h"

enum {
    OX_SHAPE_VALUES = 1024,           /* elements of a tensor that is carried by value */
    OX_SHAPE_ELEMENTS = 16,           /* of one whose elements get a name each */
    OX_SHAPE_CONST_BYTES = 64 * 1024, /* of a constant that rules may look into */
    OX_SHAPE_FACTS = 256,             /* equalities learned */
    OX_SHAPE_OVERRIDE_RANK = 64,      /* dimensions of an input given on the command line */
    OX_SHAPE_DEPTH = 256,             /* subgraphs and calls within each other */
    OX_SHAPE_TRIP_NODES = 20000       /* passed trip by trip in all loops together */
};

/* What is known of a value. */
struct ox_slot {
    const struct ox_type *type;          /* NULL: nothing */
    const struct ox_expr *const *values; /* n_values of them, NULL elements unknown; NULL: none */
    size_t n_values;
    struct ox_tensor *constant;         /* counted */
    const struct ox_infer_items *items; /* of a sequence; NULL */
    const char *reason;                 /* why type, rank or a dimension is not known; NULL */
    bool const_tried;                   /* an initializer was looked into */
    bool is_named;                      /* elements that are not known have names */
    bool is_given; /* an initializer that the caller may replace: its data says nothing */
};

/* symbol = is, learned from two dimensions that must be equal. */
struct ox_fact {
    const struct ox_expr *symbol, *is;
};

/* Where a symbol that we made up is from. */
struct ox_origin {
    const char *text;
    const struct ox_node *node; /* NULL: an open dimension of an input */
    bool by_data;               /* the node's data alone decide: nothing before it does */
};

struct ox_rule_row {
    const char *domain;
    int64_t opset;
    const struct ox_op *op;
    const struct ox_schema *schema;
    bool runs;     /* a kernel or a body serves it */
    uint32_t next; /* of the same operator name, UINT32_MAX: none */
};

/* A constant kept until the end. */
struct ox_kept_tensor {
    struct ox_tensor *tensor;
    struct ox_kept_tensor *next;
};

/* The standard's body of an operator, opened as a model of its own. */
struct ox_shape_body {
    const struct ox_schema *schema;
    const unsigned char *data; /* tells bodies apart */
    struct ox_model *model;    /* NULL: it could not be read */
    struct ox_slot **slots;    /* as in struct ox_shapes */
};

struct ox_memo;

/* A finding that is not made yet; the last one first. */
struct ox_deferred {
    struct ox_deferred *next;
    enum ox_finding_id id;
    struct ox_place place;
    const char *message;
};

struct ox_shapes {
    struct ox_model *model;
    struct ox_exprs *pool;
    struct ox_arena arena;
    struct ox_arena scratch; /* given back after each node */
    struct ox_arena_mark scratch_start;
    const struct ox_type *unranked[OX_N_DTYPES]; /* tensors without a rank, made when needed */
    bool strict, ignore_value_info, keep_names, may_be_empty;
    bool rules_alone; /* constants are known, but no values are computed from them or from sizes */
    bool defers_declared; /* what contradicts stored types is kept for ox_shapes_check() to judge */
    unsigned
        doubts; /* subgraphs being passed that may never run: what contradicts itself there is kept as well */
    struct ox_deferred *deferred;
    size_t n_deferred;
    struct ox_findings *findings;
    struct ox_findings *own_findings; /* the same where the caller gave none */
    unsigned char *clashing;          /* by graph id: enum ox_clash, a set; NULL: none does */
    struct ox_strmap reported;        /* findings made: a loop's body is passed more than once */
    const struct ox_node *conflict; /* of the main graph: the first that contradicts itself; NULL */
    const char *conflict_message;
    const struct ox_value **list; /* what ox_shapes_at() counts by */
    size_t n_list, n_unknown;
    struct ox_slot **slots;         /* by graph and value id; NULL: the graph was not reached */
    const struct ox_type ***joined; /* as slots, of graphs in functions: what holds for all calls */
    size_t n_graphs;
    struct ox_shape_body *bodies;
    size_t n_bodies, cap_bodies;
    struct ox_fact facts[OX_SHAPE_FACTS];
    size_t n_facts;
    struct ox_strmap op_names; /* operator name -> first row in rules */
    struct ox_rule_row *rules;
    size_t n_rules, cap_rules;
    struct ox_strmap origins;   /* made-up symbol -> index in origin_list */
    struct ox_strmap data_dims; /* call, node and what -> index in data_symbols */
    const struct ox_expr **data_symbols;
    size_t n_data_symbols, cap_data_symbols;
    struct ox_origin *origin_list;
    size_t n_origins, cap_origins;
    struct ox_kept_tensor *kept;
    const struct ox_call *call; /* in which the nodes at hand stand */
    unsigned depth, call_depth;
    unsigned in_trips;   /* loops around whose trips are passed one by one */
    bool trips_failed;   /* one of them met what it must not */
    uint64_t n_in_trips; /* nodes passed so */
    uint64_t n_inferred;
    struct ox_memo *memos; /* results of function calls */
    bool failed;           /* out of memory */
};

struct ox_infer_out {
    const struct ox_type *type;
    const struct ox_expr *const *values;
    size_t n_values;
    const struct ox_infer_items *items;
    const char *reason;
};

struct ox_infer {
    struct ox_shapes *s;
    const struct ox_node *node;
    const struct ox_schema *schema; /* NULL: not known */
    const struct ox_op *op;         /* NULL: no row */
    bool is_unknown;                /* nobody can say what it makes */
    int64_t opset;
    size_t n_refused;          /* expressions, before its rule ran */
    struct ox_infer_out *outs; /* node->n_outputs */
    const struct ox_type *
        *in_types; /* with what was learned since put in; NULL: not asked for yet */
};

/* ---- shapes.c ---- */
struct ox_slot *ox_slot_of(const struct ox_shapes *s,
                           const struct ox_value *value); /* NULL: not reached */
/* Infers all nodes of a graph whose inputs' slots are set. */
void ox_shapes_graph(struct ox_shapes *s, const struct ox_graph *graph);
/* Clears the slots of a graph and sets those of initializers and declared inputs. false: out of memory. */
bool ox_shapes_enter(struct ox_shapes *s, const struct ox_graph *graph);
/* A dimension that the file leaves open gets a name, so that what follows from it can be told. */
const struct ox_type *ox_shapes_name_open(struct ox_shapes *s, const struct ox_value *value,
                                          const struct ox_type *type);
/* Nobody names the size of what is always empty: with a named size of 0 broadcasts and slices that are meant would be
 * others. */
void ox_shapes_not_empty(struct ox_shapes *s, const struct ox_type *type);
/* id: OX_F_SHAPE_CONFLICT or OX_F_TYPE_CONFLICT, which are OX_F_SHAPE_SUSPECT unless strict. Said once of a node. */
void ox_shapes_finding(struct ox_shapes *s, enum ox_finding_id id, const struct ox_place *place,
                       const char *message);
/* A finding that ox_shapes_check() judges at the end. */
void ox_shapes_defer(struct ox_shapes *s, enum ox_finding_id id, const struct ox_place *place,
                     const char *message);
/* The node at hand would be refused if it ran, for that. */
void ox_shapes_clash(struct ox_infer *c, enum ox_clash why);
/* Infers the subgraphs of a node that its rule left alone, by what they declare. */
void ox_shapes_other_subgraphs(struct ox_shapes *s, const struct ox_node *node);

/* ---- report.c ---- */
bool ox_shapes_list(struct ox_shapes *s);

/* ---- node_rule.c ---- */
bool ox_shapes_is_known(const struct ox_type *type); /* in all its parts */
void ox_shapes_node(struct ox_shapes *s, const struct ox_node *node);
/* The file declares `value` otherwise than the node at hand "makes" or "gives" it (the verb). */
void ox_shapes_report_declared(struct ox_infer *c, const struct ox_value *value,
                               const struct ox_type *inferred, const char *verb);

/* ---- value_types.c ---- */
/* Whether the operator's version makes what an attribute asks for (Cast's `to`): types that inputs have are judged there. */
void ox_shapes_check_made(struct ox_infer *c, size_t i);
/* Whether the operator's signature alone tells the element type of an output, as the standard's checker reads it. */
bool ox_shapes_signature_tells(const struct ox_infer *c, const struct ox_value *value);
const struct ox_type *ox_shapes_tensor(struct ox_shapes *s, enum ox_type_kind kind,
                                       enum ox_dtype elem, bool has_rank, unsigned rank,
                                       const struct ox_expr *const *dims);
/* What both say; NULL when nothing. */
const struct ox_type *ox_shapes_join(struct ox_shapes *s, const struct ox_type *a,
                                     const struct ox_type *b);
/* What either says. Of dimensions that both know, those of `inferred` unless `declared` is more specific. `differ` (may be NULL)
 * is set when they contradict each other. */
const struct ox_type *ox_shapes_merge(struct ox_shapes *s, const struct ox_type *inferred,
                                      const struct ox_type *declared, bool *differ);
/* The type without the dimensions in it. */
const struct ox_type *ox_shapes_forget(struct ox_shapes *s, const struct ox_type *type);
/* With what was learned put in. */
const struct ox_type *ox_shapes_resolve_type(struct ox_shapes *s, const struct ox_type *type);
/* Element types of outputs by the schema's constraints; those of inputs are held against them. */
void ox_shapes_generic(struct ox_infer *c);

/* ---- infer.c ---- */
/* ox_infer_data_dim() with a reason of one's own. */
const struct ox_expr *ox_shapes_data_dim(struct ox_infer *c, const char *what, const char *reason,
                                         bool by_data);

/* ---- facts.c ---- */
const struct ox_expr *ox_shapes_resolve(struct ox_shapes *s, const struct ox_expr *e);
/* Whether a symbol that we made up is in e. */
bool ox_shapes_made_up(const struct ox_shapes *s, const struct ox_expr *e);
/* Whether e holds a symbol for a size that a subgraph or a function makes: another each time that it runs. */
bool ox_shapes_passing(const struct ox_shapes *s, const struct ox_expr *e);
/* Neither a subgraph nor a function, whose values are others each time. */
bool ox_shapes_is_main(const struct ox_shapes *s, const struct ox_graph *graph);
const struct ox_expr *ox_shapes_symbol(struct ox_shapes *s, const char *prefix,
                                       const struct ox_origin *origin);
/* For any integer, not for sizes alone. */
const struct ox_expr *ox_shapes_signed_symbol(struct ox_shapes *s, const char *prefix,
                                              const struct ox_origin *origin);
/* a = b from here on: false when they cannot be equal. */
bool ox_shapes_learn(struct ox_shapes *s, const struct ox_expr *a, const struct ox_expr *b);
/* Where a symbol that we made up is from; NULL: it is none. */
const struct ox_origin *ox_shapes_origin(const struct ox_shapes *s, const char *symbol);
/* Remembers the symbol for ox_infer_data_dim(). */
bool ox_shapes_keep_symbol(struct ox_shapes *s, const char *key, const struct ox_expr *symbol);

/* ---- constants.c ---- */
const struct ox_tensor *ox_shapes_constant(struct ox_shapes *s, struct ox_slot *slot,
                                           const struct ox_value *value);
bool ox_shapes_values(struct ox_shapes *s, const struct ox_value *value, size_t *n,
                      const struct ox_expr *const **values);
void ox_shapes_fold(struct ox_infer *c);
void ox_shapes_keep(struct ox_shapes *s, struct ox_slot *slot,
                    struct ox_tensor *tensor); /* takes the reference */

/* ---- calls.c ---- */
bool ox_shapes_call(
    struct ox_infer *c); /* a function of the model or of the standard; false: there is none */

/* ---- given.c ---- */
/* options->input_dims, in place of what the main graph's inputs declare. OX_USAGE: there is no such input, or they contradict. */
enum ox_status ox_shapes_override(struct ox_shapes *s, const struct ox_shapes_options *options,
                                  struct ox_error *err);
/* options->symbols, as facts. OX_USAGE: no input has such a dimension or element, or it cannot be of that size. */
enum ox_status ox_shapes_set_symbols(struct ox_shapes *s, const struct ox_shapes_options *options,
                                     struct ox_error *err);

#endif
