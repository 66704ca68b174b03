/* The table of row kernels, called ROWS_TABLE, of the functions that the includer has under these names; attention packs
 * ROWS_LANES queries side by side where they are more than ROWS_SINGLY. */
#define BOTH_FORMS(name)                                                                           \
    {                                                                                              \
        name##_both, name##_left_one, name##_right_one                                             \
    }

static const struct ox_rows ROWS_TABLE = {.attend_lanes = ROWS_LANES,
                                          .attend_singly = ROWS_SINGLY,
                                          .unary = {[OX_UNARY_ABS] = unary_abs,
                                                    [OX_UNARY_ACOS] = unary_acos,
                                                    [OX_UNARY_AFFINE] = unary_affine,
                                                    [OX_UNARY_ASIN] = unary_asin,
                                                    [OX_UNARY_ATAN] = unary_atan,
                                                    [OX_UNARY_CEIL] = unary_ceil,
                                                    [OX_UNARY_CELU] = unary_celu,
                                                    [OX_UNARY_CLIP] = unary_clip,
                                                    [OX_UNARY_COS] = unary_cos,
                                                    [OX_UNARY_ELU] = unary_elu,
                                                    [OX_UNARY_ERF] = unary_erf,
                                                    [OX_UNARY_EXP] = unary_exp,
                                                    [OX_UNARY_FLOOR] = unary_floor,
                                                    [OX_UNARY_GELU] = unary_gelu,
                                                    [OX_UNARY_GELU_TANH] = unary_gelu_tanh,
                                                    [OX_UNARY_HARD_SIGMOID] = unary_hard_sigmoid,
                                                    [OX_UNARY_HARD_SWISH] = unary_hard_swish,
                                                    [OX_UNARY_LEAKY] = unary_leaky,
                                                    [OX_UNARY_LOG] = unary_log,
                                                    [OX_UNARY_MISH] = unary_mish,
                                                    [OX_UNARY_NEG] = unary_neg,
                                                    [OX_UNARY_RECIPROCAL] = unary_reciprocal,
                                                    [OX_UNARY_ROUND] = unary_round,
                                                    [OX_UNARY_RSQRT] = unary_rsqrt,
                                                    [OX_UNARY_SELU] = unary_selu,
                                                    [OX_UNARY_SIGMOID] = unary_sigmoid,
                                                    [OX_UNARY_SIN] = unary_sin,
                                                    [OX_UNARY_SOFTPLUS] = unary_softplus,
                                                    [OX_UNARY_SOFTSIGN] = unary_softsign,
                                                    [OX_UNARY_SQRT] = unary_sqrt,
                                                    [OX_UNARY_SQUARE] = unary_square,
                                                    [OX_UNARY_SWISH] = unary_swish,
                                                    [OX_UNARY_TANH] = unary_tanh,
                                                    [OX_UNARY_THRESHOLD] = unary_threshold},
                                          .binary = {[OX_BINARY_ADD] = BOTH_FORMS(binary_add),
                                                     [OX_BINARY_SUB] = BOTH_FORMS(binary_sub),
                                                     [OX_BINARY_MUL] = BOTH_FORMS(binary_mul),
                                                     [OX_BINARY_DIV] = BOTH_FORMS(binary_div),
                                                     [OX_BINARY_MAX] = BOTH_FORMS(binary_max),
                                                     [OX_BINARY_MIN] = BOTH_FORMS(binary_min),
                                                     [OX_BINARY_PRELU] = BOTH_FORMS(binary_prelu)},
                                          .softmax = softmax,
                                          .log_softmax = log_softmax,
                                          .norm = norm,
                                          .sum = sum,
                                          .sum_of_squares = sum_of_squares,
                                          .sum_of_abs = sum_of_abs,
                                          .max = max,
                                          .min = min,
                                          .dot = dot,
                                          .accumulate = accumulate,
                                          .distances = distances,
                                          .attend = attend,
                                          .attend_one = attend_one};

#undef BOTH_FORMS
#undef ROWS_TABLE
#undef ROWS_LANES
#undef ROWS_SINGLY
