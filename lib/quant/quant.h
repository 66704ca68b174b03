/* What the parts of the quantizer share: one model being quantized. */
#ifndef OX_QUANT_QUANT_H
#define OX_QUANT_QUANT_H

#include "model/value.h"
#include "quant/qparams.h"
#include "quant/quant_report.h"
#include "quant/selection.h"
#include "shape/shapes.h"

struct ox_quant {
    struct ox_model *model;
    const struct ox_quant_options *options;
    struct ox_shapes *shapes;   /* as of the last ox_quant_infer() ... */
    size_t *n_values, n_graphs; /* ... and how many values each graph had then */
    struct ox_arena arena;
    struct ox_quant_report *report;
    struct ox_selection nodes, excluded; /* of the model as it was given */
    const char **scopes;                 /* by graph id; see ox_quant_name_scopes() */
    struct ox_row_table *row_tables;     /* that were made, see row_table.h */
    struct ox_columns *columns;          /* and weights with a scale an output, see tied.h */
};

/* Makes the selections. strict: a selector or an operator type that matches nothing is OX_USAGE. Release it also after a
 * failure. */
enum ox_status ox_quant_init(struct ox_quant *q, struct ox_model *model,
                             const struct ox_quant_options *options, bool strict,
                             struct ox_error *err);
void ox_quant_release(struct ox_quant *q);
enum ox_status ox_quant_infer(struct ox_quant *q, struct ox_error *err);
/* NULL: the options ask for the node; else why not. */
const char *ox_quant_unwanted(const struct ox_quant *q, const struct ox_node *node);

/* What a calibration calls a graph's values is their name, in bodies of If, Loop and Scan after the body's path and a colon:
 * "loop_1.body:h". Written down before the graphs change. */
enum ox_status ox_quant_name_scopes(struct ox_quant *q, struct ox_error *err);

/* Element type of a value, inferred or declared or of its initializer; OX_UNDEFINED. */
enum ox_dtype ox_quant_dtype(const struct ox_quant *q, const struct ox_value *value);
/* Rank of a tensor; -1 when it is not known. */
int ox_quant_rank(const struct ox_quant *q, const struct ox_value *value);
/* Dimension `axis`; -1 when it is no number. */
int64_t ox_quant_dim(const struct ox_quant *q, const struct ox_value *value, unsigned axis);

/* The values of a constant (ox_value_stored()) as float32 and the type they were. The caller releases *out. OX_INPUT: no float tensor. */
enum ox_status ox_quant_values(struct ox_quant *q, const struct ox_value *value,
                               struct ox_tensor **out, enum ox_dtype *real, struct ox_error *err);
/* The values of such a constant. */
enum ox_status ox_quant_stored_floats(struct ox_quant *q, const struct ox_stored *stored,
                                      struct ox_tensor **out, struct ox_error *err);
/* As ox_quant_values() of a matrix, turned around. */
enum ox_status ox_quant_turned(struct ox_quant *q, const struct ox_value *value,
                               struct ox_tensor **out, enum ox_dtype *real, struct ox_error *err);
bool ox_quant_is_float(enum ox_dtype dtype); /* float32 or float16 */

/* ---- Changing the graph. NULL or OX_NO_MEMORY: out of memory. ---- */

/* An initializer of that name (made unique), taking over the tensor's reference also when it fails. */
struct ox_value *ox_quant_add_init(struct ox_graph *graph, const char *name,
                                   struct ox_tensor *tensor);
/* Scale and zero point of parameters as initializers. */
enum ox_status ox_quant_add_params(struct ox_quant *q, struct ox_graph *graph,
                                   const struct ox_qparams *params, const char *scale_name,
                                   const char *zero_name, struct ox_value **scale,
                                   struct ox_value **zero, struct ox_error *err);
/* Of floats: none is a NaN or an infinity. */
bool ox_quant_is_finite(const struct ox_tensor *values);
/* An initializer called name + suffix. NULL: out of memory. */
struct ox_value *ox_quant_add_part(struct ox_quant *q, struct ox_graph *graph, const char *name,
                                   const char *suffix, const struct ox_tensor *tensor);
/* Scales of blocks, name + "_scale", behind Cast where they are narrower than `real`, which the values were: runtimes fold it when
 * they load. */
struct ox_value *ox_quant_add_scales(struct ox_quant *q, struct ox_graph *graph, const char *name,
                                     const struct ox_tensor *scales, enum ox_dtype real);
/* prefix + suffix, in the job's arena. Suffixes are those of onnxruntime.quantization, but shorter where its debugger does not pair
 * tensors by them (it reads QDQ models alone): in small models names outweigh weights. */
const char *ox_quant_name(struct ox_quant *q, const char *prefix, const char *suffix);
/* All attributes of a node on another one, but those in `but` (ends in NULL; may be NULL). */
bool ox_quant_copy_attrs(struct ox_node *to, const struct ox_node *from, const char *const *but);
/* An integer attribute, or what stands for it. */
int64_t ox_quant_int_attr(const struct ox_node *node, const char *name, int64_t otherwise);
float ox_quant_float_attr(const struct ox_node *node, const char *name, float otherwise);

/* Who uses the values of one graph. */
struct ox_quant_use {
    struct ox_node *node;
    size_t index;
};
struct ox_quant_uses {
    uint32_t *first; /* by value id, one more than values */
    struct ox_quant_use *uses;
    size_t n_values;
    bool *captured; /* by value id: a subgraph uses it too */
};
enum ox_status ox_quant_find_uses(struct ox_quant *q, struct ox_graph *graph,
                                  struct ox_quant_uses *out, struct ox_error *err);
/* The captured ones alone; NULL: out of memory. */
bool *ox_quant_find_captured(struct ox_quant *q, const struct ox_graph *graph);
size_t ox_quant_n_uses(const struct ox_quant_uses *uses, const struct ox_value *value);
/* All nodes of the graph that read `old` read `by`; subgraphs go on with what they capture. */
void ox_quant_read_instead(struct ox_graph *graph, const struct ox_value *old, struct ox_value *by);
/* Removes each node of that operator and domain (NULL: of any) whose only output nobody reads. */
enum ox_status ox_quant_drop_unread(struct ox_quant *q, struct ox_graph *graph, const char *op_type,
                                    const char *domain, struct ox_error *err);

/* Makes a Sum of an Add, which runtimes make no Gemm of. */
enum ox_status ox_quant_make_sum(struct ox_quant *q, struct ox_node *add, struct ox_error *err);
/* The sums before normalizations as Sum: lone_norm.c. */
enum ox_status ox_quant_lone_norms(struct ox_quant *q, struct ox_graph *graph,
                                   struct ox_error *err);
/* Tables and weights of recurrent layers have 8 bits, or the 16 that were asked for of weights. */
enum ox_dtype ox_quant_stored_type(const struct ox_quant *q);

/* Lets nodes of the graph read one of several small constants of integers that are equal; the others are left unread. */
enum ox_status ox_quant_share_sizes(struct ox_quant *q, struct ox_graph *graph,
                                    struct ox_error *err);
/* Puts what several graphs have been given of equal constants into the main one. */
enum ox_status ox_quant_share_bodies(struct ox_quant *q, struct ox_error *err);
/* Drops initializers that no node of any graph and no output uses; also from the graph's inputs. */
enum ox_status ox_quant_drop_inits(struct ox_quant *q, struct ox_error *err);
/* Raises the default domain's version or adds a domain. */
bool ox_quant_set_opset(struct ox_model *model, const char *domain, int64_t version);

/* ---- Weights of 16-bit floats: halves.c ---- */

/* What is cast from halves is a weight of float32 that keeps them (OX_STORED_WIDE) ... */
enum ox_status ox_quant_widen_weights(struct ox_quant *q, struct ox_graph *graph,
                                      struct ox_error *err);
/* ... and is stored as them again where it is still there. */
enum ox_status ox_quant_narrow_weights(struct ox_quant *q, struct ox_graph *graph,
                                       struct ox_error *err);

/* Drops what torch's exporter says of the source (pkg.torch.*) of nodes, values and graphs. */
enum ox_status ox_quant_drop_traces(struct ox_model *model, struct ox_error *err);
/* Producer, IR version, order of nodes, unused constants. */
enum ox_status ox_quant_finish(struct ox_quant *q, struct ox_error *err);

bool ox_quant_is_body(const struct ox_graph *graph); /* of If, Loop or Scan, outside of functions */
/* A constant that takes fewer bytes in a body than what makes integers of each turn's values, unless nodes were asked for. */
bool ox_quant_small_in_body(const struct ox_quant *q, const struct ox_graph *graph,
                            const struct ox_value *weight);
/* Products in a body, quantized as they run: dynamic.c. */
enum ox_status ox_quant_body(struct ox_quant *q, struct ox_graph *body, struct ox_error *err);

/* ---- Recurrent layers: weights are stored as integers, the layer stays in float ---- */

bool ox_quant_is_recurrent(const struct ox_node *node); /* LSTM, GRU, RNN */
/* wide: in 16 bits. *reason is set where it cannot be. */
enum ox_status ox_quant_shrink_recurrent(struct ox_quant *q, struct ox_node *node, bool wide,
                                         const char **reason, struct ox_error *err);
/* The same of large constants that convolutions take as weights after factors that are computed, as StyleGAN2 does. */
enum ox_status ox_quant_shrink_scaled(struct ox_quant *q, struct ox_graph *graph,
                                      struct ox_error *err);

#endif
