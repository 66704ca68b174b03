/* Which tensors of a graph pass through integers, and which parameters they share. */
#ifndef OX_QUANT_PLACE_H
#define OX_QUANT_PLACE_H

#include "quant/before.h"
#include "quant/calibrate.h"
#include "quant/equalize.h"
#include "quant/quant.h"
#include "quant/ranges.h"
#include "quant/saturation.h"

enum ox_mark_kind { OX_MARK_NONE, OX_MARK_ACTIVATION, OX_MARK_WEIGHT };

struct ox_mark {
    enum ox_mark_kind kind;
    int axis;               /* of a weight; -1: one scale */
    struct ox_value *share; /* takes the parameters of this one; NULL */
    bool is_bias;           /* somewhere */
    /* Filled when the parameters are made: */
    struct ox_qparams params;
    struct ox_value *scale, *zero;
    bool parted; /* products that read it have a pair of Q and DQ each */
    bool done;   /* Q and DQ are there */
    bool has_range;
    struct ox_qrange range;
    const struct ox_saturation
        *sums; /* of a constant: those with it that are not exact everywhere */
    size_t n_sums;
    double widened; /* ... by how much its scales are larger for them; 1 */
};

/* A bias that becomes int32 with the scale of input times weight. */
struct ox_mark_bias {
    struct ox_node *node;
    size_t index; /* of the bias among its inputs */
    struct ox_value *bias, *input, *weight;
    float beta;
    const struct ox_stored *moved; /* what it was corrected to; NULL */
};

struct ox_channels;
struct ox_placed_table;

struct ox_place {
    struct ox_quant *q;
    const struct ox_calibration *calibration;
    struct ox_graph *graph;
    struct ox_quant_uses uses;
    struct ox_mark *marks; /* by value id */
    size_t n_marks;
    struct ox_mark_bias *biases;
    size_t n_biases, cap_biases;
    bool *gone; /* nodes to be removed, by index */
    size_t n_nodes;
    const struct ox_equalized *equalized;
    const struct ox_channels *channels; /* NULL: they are not known */
    bool correcting;                    /* biases, by the means of channels */
    bool float_transposed;              /* transposed convolutions have integer weights alone */
    bool wide_recurrent;                /* weights of recurrent layers have 16 bits */
    bool cancelling;                    /* weights are rounded so that errors cancel */
    struct ox_quant_before before;
    struct ox_placed_table *tables; /* place_table.c */
};

enum ox_status ox_place_begin(struct ox_place *place, struct ox_quant *q, struct ox_graph *graph,
                              const struct ox_calibration *calibration, struct ox_error *err);
/* What the calibration saw of a value of the model, wherever it is captured; NULL. */
struct ox_calibrated *ox_place_seen(const struct ox_quant *q,
                                    const struct ox_calibration *calibration,
                                    const struct ox_value *value);

static inline struct ox_mark *ox_place_mark(struct ox_place *place, const struct ox_value *value)
{
    return &place->marks[value->id];
}
/* The mark whose parameters a value takes: its own or, over however many values, the one that it shares them with. */
const struct ox_mark *ox_place_sharing(struct ox_place *place, const struct ox_value *value);
/* Scale and zero point of an activation of that range. */
struct ox_qparam ox_place_pair(const struct ox_place *place, const struct ox_value *value,
                               struct ox_qrange range);
/* The softmax whose values a node gives or moves; NULL. onnxruntime quantizes before what moves the values. */
const struct ox_node *ox_place_moved_softmax(const struct ox_node *node);
/* What a softmax of single elements makes, as of attention to one token, moved or not: onnxruntime's on integers makes 0 where 1 is right,
 * so it stays in float, but for compat_ort. */
bool ox_place_is_softmax_of_ones(const struct ox_place *place, const struct ox_value *value);
/* A float tensor, constant or not, of the graph itself, and no such softmax. */
bool ox_place_can(const struct ox_place *place, const struct ox_value *value);
/* With compat_ort an initializer of the graph itself; else a Constant node's value too. */
bool ox_place_constant(const struct ox_place *place, const struct ox_value *value);
/* Part of what each turn of a loop gets as the one before it did: of weights, in models of Keras. */
bool ox_place_handed_on(const struct ox_value *value);
bool ox_place_has(const struct ox_place *place, const struct ox_value *value);
void ox_place_activation(struct ox_place *place, struct ox_value *value);
void ox_place_same(struct ox_place *place, struct ox_value *output, struct ox_value *input);
/* axis -1: one scale. */
void ox_place_weight(struct ox_place *place, struct ox_value *value, int axis);
enum ox_status ox_place_bias(struct ox_place *place, struct ox_node *node, size_t index, float beta,
                             struct ox_error *err);
/* The same where the bias is another node's input: an Add's, after the product. */
enum ox_status ox_place_bias_of(struct ox_place *place, const struct ox_node *product,
                                struct ox_node *node, size_t index, float beta,
                                struct ox_error *err);
/* The only user of `input` is a Relu or Clip that makes `output`, which integers clip by themselves: what makes the one makes the
 * other now. false: it cannot be. */
bool ox_place_absorb(struct ox_place *place, struct ox_node *node);
/* The axis along which a weight has a scale each, or -1. */
int ox_place_axis(const struct ox_place *place, const struct ox_value *weight, int axis);

/* Sets has_range and range by what was seen of the value, if anything was. */
void ox_place_range_of(struct ox_place *place, const struct ox_value *value);
/* The same for all values; then what nodes imply (Relu, Clip, Softmax). */
void ox_place_ranges(struct ox_place *place);

/* Finds the sums that its users make of a constant of that shape, as they are marked, before any of them is changed. */
enum ox_status ox_place_sums(struct ox_place *place, const struct ox_value *value,
                             const struct ox_tensor *shape, struct ox_error *err);
/* A constant as integers, by the parameters of its mark. */
enum ox_status ox_place_integers(struct ox_place *place, const struct ox_value *value,
                                 const struct ox_tensor *values, struct ox_tensor **out,
                                 struct ox_error *err);
/* Moves biases against the mean error of rounded weights, whose parameters are there. */
enum ox_status ox_place_correct(struct ox_place *place, struct ox_error *err);
/* Marks as onnxruntime 1.31 does. */
enum ox_status ox_place_like_ort(struct ox_place *place, struct ox_error *err);
/* Rewrites the graph as its QOperator form; of the place only ranges are used. */
enum ox_status ox_qoperator_like_ort(struct ox_place *place, struct ox_error *err);
/* After weaving: products, convolutions and movers between DQ and Q become operators on integers. */
enum ox_status ox_qoperator_standard(struct ox_quant *q, struct ox_graph *graph,
                                     struct ox_error *err);
/* Whether onnxruntime has Q and DQ of its own on the other side of a node. */
bool ox_place_ort_moves(const struct ox_node *node);
/* What onnxruntime refuses of int8 activations, see place_int8.c: whether an Add behind the product must make no Gemm of it; */
bool ox_place_int8_parts(const struct ox_place *place, const struct ox_node *product);
/* movers of integers get Q and DQ behind as well. */
void ox_place_int8_ends(struct ox_place *place);
/* Once Q and DQ are there: what goes into bodies is read before it is rounded. remove, by index: nodes that are unread then. */
enum ox_status ox_place_before_bodies(struct ox_place *place, bool *remove, struct ox_error *err);
/* Sets whether a Pad repeats what is there, or pads with 0: its output has the scale of its input. */
enum ox_status ox_place_pads_same(const struct ox_place *place, const struct ox_node *pad,
                                  bool *same, struct ox_error *err);
/* Marks what is padded for operators on integers as what it is made of; */
enum ox_status ox_place_pads(struct ox_place *place, struct ox_error *err);
/* once Q and DQ are there: Pad between them pads integers. */
enum ox_status ox_place_pad_integers(struct ox_place *place, struct ox_error *err);
/* Of Gelu in parts behind integers, see place_gelu.c. */
enum ox_status ox_place_gelus(struct ox_place *place, struct ox_error *err);
/* Of HardSwish between integers, see place_swish.c. */
enum ox_status ox_place_swishes(struct ox_place *place, struct ox_error *err);
/* What several read of int8 activations, see place_copies.c. */
enum ox_status ox_place_copies(struct ox_place *place, struct ox_error *err);
/* Sets, by value id, of which values ox_place_own() may ask for the range. Nodes are in order. */
void ox_place_wants(const struct ox_graph *graph, bool *wanted);
/* Marks what pays. */
enum ox_status ox_place_own(struct ox_place *place, struct ox_error *err);

/* Puts QuantizeLinear and DequantizeLinear where the marks ask. */
enum ox_status ox_place_weave(struct ox_place *place, struct ox_error *err);

#endif
