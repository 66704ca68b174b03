/* A model in memory: graphs of nodes and values by pointer, names interned, constant data left in the mapped file.
 *
 * Models that break ONNX's rules are lifted all the same, so that the checker can tell. What shows it:
 * - A name defined twice (node outputs, inputs, initializers): one value, which keeps the first definition of each sort.
 *   node->outputs[i] is that value but value->producer, value->output_index do not lead back; or a value with a producer
 *   has is_input or init set too. graph->inputs, outputs and inits hold all that the file lists, in its order.
 * - A name that is used and defined nowhere: a value with no producer, init, sparse_init, outer and is_input. So is one that
 *   value_info alone has, which nobody uses.
 * - A nameless graph input, output or initializer: a value named "" that no name leads to (inits: no value at all).
 * - Nodes out of order and cycles: as they are; a name means its definition wherever in the graph that stands. What
 *   is defined in no enclosing graph's inputs, initializers or outputs of nodes is undefined, not captured.
 * - No graph: model->graph is NULL. A graph attribute without graph: n is 0.
 * - A type, an attribute type or a tensor's data type that does not exist: OX_TYPE_UNKNOWN, the number as it is, OX_UNDEFINED.
 * - A function or opset domain declared twice: all are listed, the first is found.
 * - A negative dimension in a type: unknown (NULL); proto has it.
 *
 * Everything lives in the model's arena and dies with it. Nothing that was in the file is lost: each part keeps `proto`,
 * the message that it was lifted from (NULL for what was added since), from which ox_model_save() takes the fields that are
 * not lifted: doc strings, metadata, unknown fields. */
#ifndef OX_MODEL_MODEL_H
#define OX_MODEL_MODEL_H

#include "common/env.h"
#include "common/file.h"
#include "common/strmap.h"
#include "model/expr.h"
#include "tensor/tensor.h"

struct Onnx__ModelProto;
struct Onnx__GraphProto;
struct Onnx__NodeProto;
struct Onnx__AttributeProto;
struct Onnx__TensorProto;
struct Onnx__SparseTensorProto;
struct Onnx__ValueInfoProto;
struct Onnx__FunctionProto;
struct Onnx__TypeProto;
struct Onnx__TrainingInfoProto;

/* ---- Types ------------------------------------------------------------------------------------------------------ */

enum ox_type_kind {
    OX_TYPE_UNKNOWN,
    OX_TYPE_TENSOR,
    OX_TYPE_SPARSE,
    OX_TYPE_SEQUENCE,
    OX_TYPE_OPTIONAL,
    OX_TYPE_MAP,
    OX_TYPE_OPAQUE
};

struct ox_type {
    enum ox_type_kind kind;
    enum ox_dtype elem; /* TENSOR, SPARSE: element type. MAP: key type. OX_UNDEFINED: unknown */
    bool has_rank;      /* TENSOR, SPARSE */
    unsigned rank;
    const struct ox_expr **dims; /* rank of them; NULL elements are unknown */
    const struct ox_type *inner; /* SEQUENCE, OPTIONAL: element. MAP: value */
    const struct Onnx__TypeProto *proto;
};

/* "float32[batch,3,224,224]", "seq(float32[?])", "optional(...)", "map(int64,float32)"; without shape on demand. */
void ox_type_print(struct ox_strbuf *out, const struct ox_type *type, bool with_shape);

/* ---- Constant data ---------------------------------------------------------------------------------------------- */

enum ox_stored_place {
    OX_STORED_NONE,
    OX_STORED_RAW,
    OX_STORED_TYPED,
    OX_STORED_EXTERNAL,
    OX_STORED_TENSOR,
    OX_STORED_WIDE
};

/* A TensorProto wherever it stands (initializer, attribute, sparse part). */
struct ox_stored {
    const char *name;    /* "" when it has none */
    enum ox_dtype dtype; /* OX_UNDEFINED when data_type is no type known */
    int32_t data_type;   /* the number in the file */
    unsigned rank;
    const int64_t *dims;        /* as in the file: may be negative */
    enum ox_stored_place place; /* NONE: no data at all, which is right for 0 elements */
    const uint8_t *raw;         /* RAW: packed bytes, in the map or the arena; not aligned */
    uint64_t raw_bytes;
    const char *
        location; /* EXTERNAL; this and the next are what could be read of it: ox_stored_verify() judges */
    uint64_t offset, length;
    bool has_length;
    struct ox_tensor *tensor; /* TENSOR: made in memory by a pass */
    const struct ox_stored *
        narrow; /* WIDE: the 16-bit floats that it is in float32, as a pass wants them; widened whenever it is read */
    const struct Onnx__TensorProto
        *proto; /* its float_data, int32_data, int64_data, double_data and uint64_data are counted
                                              (n_float_data) but not decoded: their pointers are NULL */
};

struct ox_model;

/* The tensor's values: a view of the map where the format allows it, else decoded. All errors of bad content: sizes against
 * dims, missing external data, element type without meaning. The caller releases it. */
enum ox_status ox_stored_load(struct ox_model *model, const struct ox_stored *stored,
                              struct ox_tensor **out, struct ox_error *err);
/* The same into a tensor of its type and shape (not of strings) that the caller made. */
enum ox_status ox_stored_fill(struct ox_model *model, const struct ox_stored *stored,
                              struct ox_tensor *tensor, struct ox_error *err);
/* Whether n packed elements, where they lie, are also what they are in memory: aligned, each of whole bytes, no bool but 0 and 1. */
bool ox_packed_is_plain(enum ox_dtype dtype, const uint8_t *bytes, size_t n);
/* Whether the data is there and as long as dims and type need, without reading it (the external file is opened and
 * measured; it is read only when a checksum is given). Of the errors of these this one alone does not name file and tensor. */
enum ox_status ox_stored_verify(struct ox_model *model, const struct ox_stored *stored,
                                struct ox_error *err);

struct ox_stored_sparse {
    const struct ox_stored *values;
    const struct ox_stored *indices;
    unsigned rank;
    const int64_t *dims;
    const struct Onnx__SparseTensorProto *proto;
};

/* Its values and indices as one datum, which the caller releases. Fails as ox_stored_load() does; where the indices lead is not looked at. */
enum ox_status ox_stored_sparse_load(struct ox_model *model, const struct ox_stored_sparse *stored,
                                     struct ox_datum **out, struct ox_error *err);

/* ---- Attributes ------------------------------------------------------------------------------------------------- */

enum ox_attr_type { /* AttributeProto.AttributeType */
                    OX_ATTR_UNDEFINED = 0,
                    OX_ATTR_FLOAT = 1,
                    OX_ATTR_INT = 2,
                    OX_ATTR_STRING = 3,
                    OX_ATTR_TENSOR = 4,
                    OX_ATTR_GRAPH = 5,
                    OX_ATTR_FLOATS = 6,
                    OX_ATTR_INTS = 7,
                    OX_ATTR_STRINGS = 8,
                    OX_ATTR_TENSORS = 9,
                    OX_ATTR_GRAPHS = 10,
                    OX_ATTR_SPARSE_TENSOR = 11,
                    OX_ATTR_SPARSE_TENSORS = 12,
                    OX_ATTR_TYPE_PROTO = 13,
                    OX_ATTR_TYPE_PROTOS = 14
};
const char *ox_attr_type_name(enum ox_attr_type type); /* "INTS" */
const char *ox_attr_type_word(
    enum ox_attr_type type); /* "ints", as the text syntax has it; NULL: there is none */

struct ox_graph;

struct ox_attr {
    const char *name;
    enum ox_attr_type type; /* from the file, or by the field that is set in files before IR 2 */
    const char *ref;        /* in functions: the attribute of the call that stands for it; NULL */
    size_t n; /* elements of the list forms; of the single ones 1, or 0 when the field is not set */
    union {
        int64_t i;
        float f;
        struct ox_str s; /* a NUL follows */
        const int64_t *ints;
        const float *floats;
        const struct ox_str *strings;   /* a NUL follows each */
        const struct ox_stored *tensor; /* TENSOR: one; TENSORS: n in a row */
        struct ox_graph *const *graphs; /* GRAPH: graphs[0] */
        const struct ox_stored_sparse *sparse;
        const struct ox_type *types;
    };
    const struct Onnx__AttributeProto *proto;
};

/* ---- Graphs ----------------------------------------------------------------------------------------------------- */

struct ox_value {
    const char *name;
    struct ox_graph *graph;
    const struct ox_type
        *type; /* declared in the file (input, output, value_info); NULL. Inferred types are in
                                      struct ox_shapes */
    struct ox_node *producer; /* NULL for inputs, initializers, captured and undefined values */
    unsigned output_index;    /* of the producer */
    struct ox_value *outer;   /* captured: the value of the enclosing graph that it stands for */
    const struct ox_stored *init; /* initializer; an input may have one too (its default) */
    const struct ox_stored_sparse *sparse_init;
    const struct Onnx__ValueInfoProto *info; /* the entry that `type` is from */
    uint32_t id;                             /* index in graph->values */
    bool is_input, is_output;
    bool removed; /* its node was taken out by ox_graph_remove_nodes() */
};

struct ox_node {
    const char *name; /* "" when it has none */
    const char *op_type;
    const char *domain; /* "" for ai.onnx, also when the file spells it out */
    const char *overload;
    struct ox_value **inputs; /* NULL elements: omitted */
    size_t n_inputs;
    struct ox_value **outputs; /* NULL elements: omitted */
    size_t n_outputs;
    struct ox_attr *attrs;
    size_t n_attrs;
    struct ox_graph *graph;
    uint32_t index; /* place in graph->nodes */
    uint32_t
        place; /* in a copy: 1 + its place in the first model, which rewriting keeps; 0: it is new */
    const struct Onnx__NodeProto *proto;
};

struct ox_opset {
    const char *domain; /* "" for ai.onnx */
    int64_t version;
};

struct ox_graph {
    struct ox_model *model;
    const char *name;
    uint32_t id; /* index in model->graphs */
    struct ox_node *
        parent; /* the node whose attribute it is; NULL for the main graph, function bodies, training graphs */
    const char *
        parent_attr; /* "body", or "branches[2]" for a member of a GRAPHS attribute; of training graphs the path:
                                "training_info[0].algorithm" */
    struct ox_graph *
        scope; /* the graph whose names can be captured: parent->graph; the main graph for a training
                                algorithm; NULL */
    struct ox_function *function; /* whose body it is, or in whose body it stands; NULL */
    struct ox_node **nodes;       /* in file order */
    size_t n_nodes, cap_nodes;
    struct ox_value **values; /* every name in the graph once; captured ones have `outer` */
    size_t n_values, cap_values;
    struct ox_value **inputs; /* initializers that are inputs included, as in the file */
    size_t n_inputs;
    struct ox_value **outputs;
    size_t n_outputs;
    struct ox_stored **inits; /* in file order */
    size_t n_inits, cap_inits;
    struct ox_stored_sparse **sparse_inits;
    size_t n_sparse_inits;
    struct ox_strmap names;               /* name -> index in values */
    const struct Onnx__GraphProto *proto; /* NULL for function bodies */
    bool dropped;                         /* it went with its node: no longer in model->graphs */
};

struct ox_function {
    const char *domain, *name, *overload;
    struct ox_graph *
        body; /* inputs and outputs are the function's; types come from its value_info or are unknown */
    const char *const *attr_names; /* without default */
    size_t n_attr_names;
    struct ox_attr *attr_defaults;
    size_t n_attr_defaults;
    struct ox_opset *opsets;
    size_t n_opsets;
    const struct Onnx__FunctionProto *proto;
};

struct ox_model {
    struct ox_env *env;
    struct ox_arena arena;
    struct ox_exprs *exprs;
    struct ox_mapping map;
    uint8_t *packed; /* the message of a model that was text or JSON; NULL */
    char *path;      /* as given; "-" */
    char *dir;       /* where external data is looked for; NULL when the model came from memory */
    int64_t ir_version;
    const char *producer_name, *producer_version, *model_domain;
    int64_t model_version;
    struct ox_opset *opsets;
    size_t n_opsets;
    struct ox_graph *graph; /* main; NULL when the file has none */
    struct ox_graph **
        graphs; /* all: main, subgraphs, function bodies, training graphs; scopes before what they enclose */
    size_t n_graphs, cap_graphs;
    struct ox_function *functions;
    size_t n_functions;
    uint64_t file_bytes, payload_bytes; /* payload: left in the map, unread */
    const struct Onnx__ModelProto *proto;
    struct ox_strmap function_names; /* of ox_model_function() */
    struct ox_externals *externals;  /* external files that are open; of ox_stored_load() */
    struct ox_owned *owned;          /* tensors that passes gave to the model */
    struct ox_strmap all_names;      /* of ox_graph_add_value() */
    bool names_collected;
    unsigned fresh_names;
    const struct ox_model
        *origin;                /* of a copy: whose map, messages and expressions it uses; NULL */
    struct ox_origins *origins; /* of constants that quantizing folded (quant/unfold.h); NULL */
};

struct ox_owned {
    struct ox_tensor *tensor;
    struct ox_owned *next;
};

/* The version of a domain's operator set that a graph's nodes are read by (the function's own inside functions); 0: not
 * imported. */
int64_t ox_graph_opset(const struct ox_graph *graph, const char *domain);
const struct ox_attr *ox_node_attr(const struct ox_node *node,
                                   const char *name); /* NULL: not there */
/* Of type GRAPH or GRAPHS: `graphs` holds n, unless it is a reference. */
bool ox_attr_has_graphs(const struct ox_attr *attr);
bool ox_node_has_graphs(const struct ox_node *node);
struct ox_value *ox_graph_value(const struct ox_graph *graph,
                                const char *name); /* in this graph alone */
const struct ox_function *ox_model_function(const struct ox_model *model, const char *domain,
                                            const char *name, const char *overload);
/* "" for the main graph; "loop_1.body.#12.then_branch"; function bodies start with "function domain:name". */
void ox_graph_path(struct ox_strbuf *out, const struct ox_graph *graph);
/* The outermost one around it: the main graph, a function's, or one of training. */
const struct ox_graph *ox_graph_root(const struct ox_graph *graph);
/* The node's name, or "#12" by its place. */
void ox_node_label(struct ox_strbuf *out, const struct ox_node *node);

/* A model whose only function is that serialized FunctionProto; the bytes must outlive it. */
enum ox_status ox_model_open_function(struct ox_model **out, struct ox_env *env, const void *bytes,
                                      size_t n, struct ox_error *err);

/* ---- Changing (what passes use). All memory is the model's. NULL or false: out of memory. ------------------------
 *
 * What is changed without these functions must say so: a new type for a value is one with proto NULL; an attribute whose
 * value changes gets proto NULL. Names, inputs and outputs of nodes may be set as they are, as may `outputs` of a graph. */

/* In no graph of the model is the name taken: NULL or a taken one is made unique. */
struct ox_value *ox_graph_add_value(struct ox_graph *graph, const char *name);
/* Appended; move it with ox_graph_sort(). It becomes the producer of its outputs, whoever was before. Attributes are set
 * after. */
struct ox_node *ox_graph_add_node(struct ox_graph *graph, const char *op_type, const char *domain,
                                  const char *name, struct ox_value *const *inputs, size_t n_inputs,
                                  struct ox_value *const *outputs, size_t n_outputs);
/* Takes a reference. An initializer that the value has already is replaced. */
struct ox_stored *ox_graph_add_init(struct ox_graph *graph, struct ox_value *value,
                                    const struct ox_tensor *tensor);
/* One of 16-bit floats in float32, widened whenever it is read; `narrow` must stay as long as the model. */
struct ox_stored *ox_graph_add_wide_init(struct ox_graph *graph, struct ox_value *value,
                                         const struct ox_stored *narrow);
/* The initializer of a value that nothing uses leaves the graph; a tensor that a pass gave it is released. */
void ox_graph_drop_init(struct ox_graph *graph, struct ox_value *value);
void ox_graph_remove_inits(struct ox_graph *graph, const bool *remove); /* by index in inits */
/* Initializers stop being inputs, which IR versions before 4 made of them though they are constants; the version becomes 4. */
void ox_model_free_inits(struct ox_model *model);
/* Graphs that are marked as dropped leave the model's list, and those behind them get other numbers. */
void ox_model_drop_graphs(struct ox_model *model);
/* Dimensions that are declared by names, or by formulas of them, become open. false: out of memory. */
bool ox_model_drop_symbols(struct ox_model *model);
/* A value of a subgraph, input (take it from `inputs` yourself) or made by a node (that must leave), stands for `outer`, of the graph
 * around it, from here on, and takes its name, which captures of it take as well. false: it is an output, the name means something else
 * there, or out of memory; nothing was done but in the last case. */
bool ox_value_capture(struct ox_value *value, struct ox_value *outer);
/* Of two values of one graph that no subgraph captures. What initializes them is called as before. */
bool ox_value_swap_names(struct ox_value *a, struct ox_value *b);
/* By index in nodes. What they produced becomes undefined, unless another node produces it by now; graphs in their attributes
 * leave the model, so that indices in model->graphs change. */
void ox_graph_remove_nodes(struct ox_graph *graph, const bool *remove);
/* No two nodes of a graph share a name then, as onnxruntime asks for: those that are new get others. */
bool ox_model_part_names(struct ox_model *model);
/* Topological and stable. OX_INPUT: its nodes form a cycle; nothing moves then, nor at OX_NO_MEMORY. */
enum ox_status ox_graph_sort(struct ox_graph *graph, struct ox_error *err);
/* An attribute of that name that is there is emptied. Pointers to the node's other attributes become stale. */
struct ox_attr *ox_node_add_attr(struct ox_node *node, const char *name, enum ox_attr_type type);
/* Nothing where it is not there. */
void ox_node_drop_attr(struct ox_node *node, const char *name);
bool ox_node_set_int(struct ox_node *node, const char *name, int64_t value);
bool ox_node_set_ints(struct ox_node *node, const char *name, const int64_t *values, size_t n);
bool ox_node_set_float(struct ox_node *node, const char *name, float value);
bool ox_node_set_string(struct ox_node *node, const char *name, const char *value);
bool ox_node_set_tensor(struct ox_node *node, const char *name, const struct ox_tensor *tensor);
/* A tensor kept by the model, as an attribute or an initializer refers to it; takes a reference. */
struct ox_stored *ox_model_store(struct ox_model *model, const char *name,
                                 const struct ox_tensor *tensor);

/* The main graph's nodes of that domain are read by that version from here on. */
bool ox_model_import(struct ox_model *model, const char *domain, int64_t version);

/* ---- Writing ---------------------------------------------------------------------------------------------------- */

/* ox_model_save() is in onnxtool.h. */

#endif
