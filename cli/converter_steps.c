/* What convert-opset --steps lists. Found by scripts/converter_steps.py, which asks onnx's converter about each step and looks at what
 * became of the ONNX suite's cases when they were converted (lib/tests/test_convert_suite.c). */
#include "converter_steps.h"

#include <string.h>

static const struct {
    int from; /* to the opset before it */
    const char *operators;
} steps[] = {
    {22, "GlobalMaxPool"},
    {21, "GroupNormalization"},
    {20, "ConstantOfShape GridSample"},
    {18, "LpPool Pad Split"},
    {16, "Identity If Loop RoiAlign"},
    {15, "BatchNormalization Pow Shape"},
    {14, "Add BatchNormalization CumSum Div Identity Mul Relu Reshape Sub"},
    {13, "Abs Add ArgMax ArgMin Cast Ceil Clip Concat DepthToSpace DequantizeLinear Div "
         "Dropout Equal Erf Exp Expand Flatten Floor Gather GatherElements GatherND Gemm "
         "Greater Hardmax Identity If IsNaN LRN Less Log Loop MatMul Max Mean "
         "MeanVarianceNormalization Min Mod Mul Neg NegativeLogLikelihoodLoss NonZero Pad "
         "Pow QuantizeLinear Reciprocal ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp "
         "ReduceMax ReduceMean ReduceMin ReduceProd ReduceSumSquare Relu Reshape Resize "
         "ScatterElements ScatterND Shape Sigmoid Sign Size Slice SoftmaxCrossEntropyLoss "
         "SpaceToDepth Sqrt Sub Sum Tanh Tile Transpose"},
    {12, "Constant Dropout GatherND Pow"},
    {11, "Clip Compress DepthToSpace Gather Gemm Hardmax If Loop LpPool MaxUnpool "
         "NonMaxSuppression OneHot Pad Resize Scan Slice Split Squeeze TopK"},
    {10, "AveragePool MaxPool Slice TopK"},
    {7, "And Equal GRU Greater LSTM Less Or RNN Upsample Xor"},
    {6, "Cast Ceil Clip Elu Exp Floor HardSigmoid InstanceNormalization LeakyRelu Log Max "
        "Mean Min PRelu Reciprocal Selu Sigmoid Sqrt Tanh Tile"},
    {3, "GRU"},
    {2, "GlobalLpPool LpPool Pad Split"},
};

void converter_steps_print(struct ox_strbuf *out)
{
    ox_strbuf_puts(
        out,
        "Steps down that the converter of onnx 1.23.2 has no adapter for and this one takes: 157 "
        "of "
        "159.\nThe other two, of Scatter and Upsample, only take back a deprecation. The sizes of "
        "TopK and Resize\nmust be constants there.\n\n");
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        ox_strbuf_printf(out, "%2d to %-2d  ", steps[i].from, steps[i].from - 1);
        cli_wrap(out, steps[i].operators, strlen(steps[i].operators), 10, 10);
    }
}
