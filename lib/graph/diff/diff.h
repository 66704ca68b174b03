/* What the files diff*.c share: the list of differences, and graphs laid side by side. */
#ifndef OX_GRAPH_DIFF_H
#define OX_GRAPH_DIFF_H

#include "model/model.h"

struct Onnx__StringStringEntryProto;

#define OX_DIFF_NONE UINT32_MAX

struct ox_diff {
    struct ox_arena arena;
    struct ox_difference *list;
    size_t n, cap;
};

struct ox_differ {
    struct ox_diff *diff;
    struct ox_model *a, *b;
    struct ox_diff_options options;
    struct ox_strmap compared; /* pairs of initializers that were held against each other */
    struct ox_error *err;
};

/* Two graphs and what in the one is what in the other. */
struct ox_diff_pair {
    const struct ox_graph *a, *b;
    uint32_t *nodes_ab, *nodes_ba;   /* by place; OX_DIFF_NONE */
    uint32_t *values_ab, *values_ba; /* by id */
    struct ox_diff_pair *up;         /* of the graphs that enclose them; NULL */
    unsigned depth;
};

/* ---- diff.c ---- */

/* Adds a difference unless its kind is ignored. Texts are copied; before and after may be NULL. */
enum ox_status ox_diff_add(struct ox_differ *d, enum ox_diff_kind kind,
                           const struct ox_graph *graph, const char *subject, const char *property,
                           const char *before, const char *after);
enum ox_status ox_diff_no_memory(const struct ox_differ *d);
/* "Conv 'conv1'", or "Conv #12". */
void ox_diff_node_text(struct ox_strbuf *out, const struct ox_node *node);

/* Two lists of keys and values: their order means nothing. */
enum ox_status ox_diff_metadata(struct ox_differ *d, const struct ox_graph *graph,
                                const char *subject, struct Onnx__StringStringEntryProto *const *a,
                                size_t n_a, struct Onnx__StringStringEntryProto *const *b,
                                size_t n_b);

/* ---- diff_match.c ---- */

enum ox_status ox_diff_match(struct ox_differ *d, struct ox_diff_pair *pair);
/* Whether the values are each other's, through graphs that enclose theirs; both may be NULL (omitted). */
bool ox_diff_same_value(const struct ox_diff_pair *pair, const struct ox_value *a,
                        const struct ox_value *b);

/* The tensor that a value is in any run: an initializer that is no input, or what a Constant holds. NULL. */
const struct ox_stored *ox_diff_stored(const struct ox_value *value);
/* Whether a Constant stands where the other graph has an initializer: what `tied` (values_ab or _ba) says of its output. */
bool ox_diff_stands_in(const struct ox_node *node, const uint32_t *tied_nodes,
                       const uint32_t *tied_values);

/* ---- diff_tensor.c ---- */

/* Holds two tensors against each other; what differs is said of `subject`, and of `property` of it. */
enum ox_status ox_diff_tensors(struct ox_differ *d, const struct ox_graph *graph,
                               const char *subject, const char *property, const struct ox_stored *a,
                               const struct ox_stored *b);
/* A number that is equal for equal tensors, from type, shape and some of the data. */
uint64_t ox_diff_tensor_hash(const struct ox_stored *stored);
/* Appends element type and shape: float32[2,3]. */
void ox_diff_tensor_type(struct ox_strbuf *out, const struct ox_stored *stored);
uint64_t ox_diff_mix(uint64_t seed, const void *bytes, size_t n);
uint64_t ox_diff_mix_text(uint64_t seed, const char *text);

/* ---- diff_node.c ---- */

enum ox_status ox_diff_nodes(struct ox_differ *d, struct ox_diff_pair *pair,
                             const struct ox_node *a, const struct ox_node *b);
enum ox_status ox_diff_attr_lists(struct ox_differ *d, struct ox_diff_pair *pair,
                                  const char *subject, const struct ox_attr *a, size_t n_a,
                                  const struct ox_attr *b, size_t n_b);
void ox_diff_attr_text(struct ox_strbuf *out, const struct ox_attr *attr);
/* Holds two initializers, of `graph` and of its pair, against each other: once, however often it is asked for. */
enum ox_status ox_diff_inits(struct ox_differ *d, const struct ox_graph *graph,
                             const struct ox_value *a, const struct ox_value *b);

/* ---- diff_graph.c ---- */

enum ox_status ox_diff_graphs(struct ox_differ *d, const struct ox_graph *a,
                              const struct ox_graph *b, struct ox_diff_pair *up);

#endif
