/* Taking apart what onnxruntime has merged: what the files of the pass share. */
#ifndef OX_GRAPH_PART_MERGED_H
#define OX_GRAPH_PART_MERGED_H

#include "graph/match.h"

/* The node that is taken apart: operators are put before it, and the last of them makes its output then. */
struct ox_parts {
    struct ox_rewrite *rw;
    struct ox_node *node;
    const struct ox_type *type; /* of its first output */
};

/* ---- part_pieces.c: NULL is out of memory, which the context keeps; so is what is made of it ---- */

/* An operator of one output, of that type (NULL: not known). */
struct ox_node *ox_part(const struct ox_parts *p, const char *op_type, const char *domain,
                        struct ox_value *const *in, size_t n_in, const struct ox_type *type);
/* The same with the attributes of the node. */
struct ox_node *ox_part_alike(const struct ox_parts *p, const char *op_type, const char *domain,
                              struct ox_value *const *in, size_t n_in, const struct ox_type *type);
/* An operator of ai.onnx: what it makes. */
struct ox_value *ox_part_value(const struct ox_parts *p, const char *op_type,
                               struct ox_value *const *in, size_t n_in, const struct ox_type *type);
/* Of two inputs and the node's type. */
struct ox_value *ox_part_pair(const struct ox_parts *p, const char *op_type, struct ox_value *a,
                              struct ox_value *b);
/* The node leaves: what a part made is its first output. */
void ox_part_end(const struct ox_parts *p, struct ox_value *made);
/* Whether `row` is a list of as many elements as x has in its last axis. */
bool ox_part_is_row(struct ox_rewrite *rw, const struct ox_value *row, const struct ox_value *x);

/* ---- part_merged_norms.c ---- */

/* The node's first output is `v` normalized, output i_sum `v` itself. */
void ox_part_end_in_norm(const struct ox_parts *p, bool centred, struct ox_value *v,
                         struct ox_value *scale, struct ox_value *shift, size_t i_sum);
/* Whether nothing asks for outputs [from, to). */
bool ox_part_are_unused(const struct ox_parts *p, size_t from, size_t to);

/* ---- A function an operator. What they cannot take apart they leave. ---- */

void ox_part_gelu(const struct ox_parts *p);
void ox_part_fast_gelu(const struct ox_parts *p);
void ox_part_quick_gelu(const struct ox_parts *p);
void ox_part_conv(const struct ox_parts *p);
void ox_part_conv_transpose(const struct ox_parts *p);
void ox_part_gemm(const struct ox_parts *p);
void ox_part_matmul(const struct ox_parts *p);
void ox_part_skip_norm(const struct ox_parts *p);
void ox_part_skip_rms(const struct ox_parts *p);
void ox_part_embedding(const struct ox_parts *p);
void ox_part_embedding_codes(const struct ox_parts *p);
void ox_part_integer_product(const struct ox_parts *p);
void ox_part_dynamic_product(const struct ox_parts *p);
void ox_part_integer_attention(const struct ox_parts *p);
void ox_part_integer_average(const struct ox_parts *p);
void ox_part_integer_concat(const struct ox_parts *p);
void ox_part_integer_factors(const struct ox_parts *p);
void ox_part_integer_leaky_relu(const struct ox_parts *p);
void ox_part_integer_sigmoid(const struct ox_parts *p);
void ox_part_integer_sum(const struct ox_parts *p);

#endif
