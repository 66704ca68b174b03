/* Products and convolutions of 8-bit tensors in integers, for -O2: faster forms of the standard's and com.microsoft's operators,
 * and the rows of our own domain that graph/quantized*.c makes. Results of operators that give integers are those of the
 * reference kernels, bit for bit. What is not done is declined with OX_UNSUPPORTED before an output is made. */
#ifndef OX_OPS_INT8_H
#define OX_OPS_INT8_H

#include "kernels/bytes.h"
#include "kernels/integer.h"
#include "ops/op.h"

/* Which input is what; OX_INT8_NONE: there is no such input. */
enum { OX_INT8_NONE = 255 };
struct ox_int8_ports {
    uint8_t x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero, bias;
};
extern const struct ox_int8_ports
    ox_int8_ports_qlinear;                             /* QLinearConv, QLinearMatMul and our own */
extern const struct ox_int8_ports ox_int8_ports_plain; /* ConvInteger, MatMulInteger */
extern const struct ox_int8_ports ox_int8_ports_qgemm;

/* Packed weights, with what is needed of them to fold zero points. */
struct ox_int8_weights {
    size_t n, count; /* columns, and weights in each */
    unsigned rank;
    int64_t dims[5]; /* of the tensor */
    bool is_signed;
    int32_t *sums, *zero; /* a column each, of weights as packed; zero NULL: all are 0 */
    int32_t *offset;      /* a column each, for `end` */
    float *scale, *fraction;
    void *packed;
    /* What ox_int8_keep_end() kept of ox_int8_end(), for inputs of that sign. */
    bool has_end, x_signed;
    int32_t in_zero;
    struct ox_integer_end end;
    struct ox_bytes_pair *pair; /* that prepare() made for the residual; NULL */
};

/* An 8-bit tensor of more than no elements; else NULL. */
const struct ox_tensor *ox_int8_in(const struct ox_run *r, size_t i);
const struct ox_tensor *ox_int8_even_empty(const struct ox_run *r, size_t i); /* an empty one too */
/* The kernels for weights of that sign. */
const struct ox_integer *ox_int8_kernels(const struct ox_run *r, bool weights_signed);
/* The only element of an 8-bit zero point; 0 where it is NULL. */
int32_t ox_int8_zero(const struct ox_tensor *t);
/* Whether scales and zero points are such as the kernels take: one, or one a column of weights; the bias one a column. */
bool ox_int8_fits(const struct ox_run *r, const struct ox_int8_ports *p, size_t n_columns);
/* Zero points of the weights as they are packed; false: they are all 0. */
bool ox_int8_weight_zeros(const struct ox_run *r, const struct ox_int8_ports *p, size_t n,
                          int32_t *zero);
/* Bytes of a block that holds weights of n columns, and its parts; prepare() keeps it, or a kernel that runs once has it in its
 * scratch. SIZE_MAX: too many. */
size_t ox_int8_weights_bytes(size_t n, size_t packed);
struct ox_int8_weights *ox_int8_weights_at(void *block, size_t n, size_t count,
                                           const struct ox_tensor *w);

/* What happens to the sums, by the node's inputs and its attributes `lo` and `hi` (codes that clamp the result; for float
 * results they are least and most). *in_zero: what padding reads. NULL inputs of y: float32, or int32 where there is no
 * scale of x either. */
enum ox_status ox_int8_end(struct ox_run *r, const struct ox_int8_ports *p,
                           const struct ox_int8_weights *w, struct ox_integer_end *end,
                           int32_t *in_zero, struct ox_error *err);
/* The same for all runs, at the end of prepare(): where scales, zero points and bias are fixed. */
void ox_int8_keep_end(const struct ox_run *r, const struct ox_int8_ports *p,
                      struct ox_int8_weights *w);
enum ox_dtype ox_int8_out_dtype(const struct ox_run *r, const struct ox_int8_ports *p);

/* Inputs of IntegerConv whose result (of the scale and zero point before them) is added to a tensor; attributes `sum_lo` and `sum_hi`
 * clamp the sum. */
enum { OX_RESIDUAL = 9, OX_RESIDUAL_SCALE, OX_RESIDUAL_Y_SCALE = 12 };
/* Instead, a table of 256 codes in which the result is looked up. And a map of more channels that the result, whose channels are last then,
 * is a slice of by the attributes join_channels and join_at: in its memory, or in new memory without it. */
enum { OX_TABLE = 14, OX_JOINED };
enum ox_status ox_int8_residual_pair(struct ox_run *r, enum ox_dtype dtype,
                                     struct ox_bytes_pair *pair, struct ox_error *err);

/* QLinearConv and ConvInteger. */
enum ox_status ox_int8_qlinear_conv(struct ox_run *r, struct ox_error *err);
enum ox_status ox_int8_prepare_qlinear_conv(struct ox_run *r, struct ox_error *err);
enum ox_status ox_int8_conv_integer(struct ox_run *r, struct ox_error *err);
enum ox_status ox_int8_prepare_conv_integer(struct ox_run *r, struct ox_error *err);
/* QLinearMatMul, MatMulInteger, QGemm. */
enum ox_status ox_int8_qlinear_matmul(struct ox_run *r, struct ox_error *err);
enum ox_status ox_int8_prepare_qlinear_matmul(struct ox_run *r, struct ox_error *err);
enum ox_status ox_int8_matmul_integer(struct ox_run *r, struct ox_error *err);
enum ox_status ox_int8_prepare_matmul_integer(struct ox_run *r, struct ox_error *err);
enum ox_status ox_int8_qgemm(struct ox_run *r, struct ox_error *err);
enum ox_status ox_int8_prepare_qgemm(struct ox_run *r, struct ox_error *err);
/* QuantizeLinear, DequantizeLinear with one scale; DynamicQuantizeLinear. */
enum ox_status ox_int8_quantize(struct ox_run *r, struct ox_error *err);
enum ox_status ox_int8_dequantize(struct ox_run *r, struct ox_error *err);
enum ox_status ox_int8_dynamic_quantize(struct ox_run *r, struct ox_error *err);
/* How DynamicQuantizeLinear codes these floats; false where one is infinite (code->zero is not set then). */
bool ox_int8_code_of(struct ox_env *env, size_t n, const float *x, struct ox_bytes_code *code);
/* QLinearAdd, QLinearMul. */
enum ox_status ox_int8_add(struct ox_run *r, struct ox_error *err);
enum ox_status ox_int8_multiply(struct ox_run *r, struct ox_error *err);
enum ox_status ox_int8_prepare_add(struct ox_run *r, struct ox_error *err);
enum ox_status ox_int8_prepare_multiply(struct ox_run *r, struct ox_error *err);

/* QLinearSoftmax, QLinearSigmoid, QLinearLeakyRelu, QLinearConcat, QLinearWhere. */
enum ox_status ox_int8_softmax(struct ox_run *r, struct ox_error *err);
enum ox_status ox_int8_sigmoid(struct ox_run *r, struct ox_error *err);
enum ox_status ox_int8_leaky_relu(struct ox_run *r, struct ox_error *err);
enum ox_status ox_int8_concat(struct ox_run *r, struct ox_error *err);
enum ox_status ox_int8_where(struct ox_run *r, struct ox_error *err);

/* QLinearAveragePool and QLinearGlobalAveragePool. */
enum ox_status ox_int8_average_pool(struct ox_run *r, struct ox_error *err);
enum ox_status ox_int8_global_average(struct ox_run *r, struct ox_error *err);

struct ox_window;
/* Greatest codes of windows over [N, H, W, C], or [N, W, C], whose window becomes one of two axes. */
enum ox_status ox_int8_max_pool(struct ox_run *r, const struct ox_tensor *x, struct ox_window *w,
                                struct ox_tensor *y, struct ox_error *err);

#endif
