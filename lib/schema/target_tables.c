/* The tables themselves, and which provider of which runtime each is. */
#include "schema/target_tables.h"

#include "schema/target_tables.inc"

const struct ox_target_pool ox_target_pool = {target_masks, target_names, target_bounds,
                                              target_boxes, target_types};

/* Limits as documented: opsets 9 to 20. */
static const struct ox_target_release tensorrt_releases[] = {{"10.1", 0, 20, 9, 0}};
static const struct ox_target_release openvino_releases[] = {{"2026.4.1", 0, 0, 0, 0}};
/* Its operators are those of opsets 12 to 15. */
static const struct ox_target_release mobile_releases[] = {{"1.14.1", 8, 15, 12, 0}};

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define ROWS(array) .rows = (array), .n_rows = COUNT(array)
#define ORT(name)                                                                                  \
    .runtime = (name), .releases = ort_releases, .n_releases = COUNT(ort_releases),                \
    .functions_from = 5
#define REST .rest = ort_cpu_rows, .n_rest = COUNT(ort_cpu_rows)
#define BEHIND "; what it does not take: onnxruntime's cpu provider as measured"

const struct ox_target_family ox_target_families[] = {
    {ORT("onnxruntime"), .provider = "cpu", .is_default = true, ROWS(ort_cpu_rows),
     .by_release = true, .sure = OX_SURE_MEASURED,
     .origin =
         "onnxruntime's released package: nearly 30,000 models of one node each, loaded in it"},
    {ORT("onnxruntime"), .provider = "cuda", ROWS(ort_cuda_rows), .by_release = true, REST,
     .sures = ort_cuda_sure,
     .origin = "onnxruntime-gpu's own list of kernels from 1.16 on, docs/OperatorKernels.md of the "
               "release before, 1.15 by its neighbours" BEHIND},
    {ORT("onnxruntime"), .provider = "tensorrt", ROWS(tensorrt_rows), REST,
     .sure = OX_SURE_PUBLISHED,
     .origin = "onnx-tensorrt's docs/operators.md of TensorRT 10.1" BEHIND},
    {ORT("onnxruntime"), .provider = "dml", ROWS(dml_rows), REST, .sure = OX_SURE_PUBLISHED,
     .origin = "docs/OperatorKernels.md of onnxruntime 1.14" BEHIND},
    {ORT("onnxruntime"), .provider = "coreml", ROWS(coreml_mlprogram_rows), REST,
     .sure = OX_SURE_PUBLISHED,
     .origin = "coreml_supported_mlprogram_ops.md of onnxruntime, 2026: MLProgram" BEHIND},
    {ORT("onnxruntime"), .provider = "coreml-nn", ROWS(coreml_nn_rows), REST,
     .sure = OX_SURE_PUBLISHED,
     .origin = "coreml_supported_ops.md of onnxruntime 1.14: NeuralNetwork" BEHIND},
    {ORT("onnxruntime"), .provider = "nnapi", ROWS(nnapi_rows), REST, .sure = OX_SURE_PUBLISHED,
     .origin = "nnapi_supported_ops.md of onnxruntime" BEHIND},
    {ORT("onnxruntime-web"), .provider = "wasm", .is_default = true, ROWS(ort_cpu_rows),
     .by_release = true, .sure = OX_SURE_DERIVED,
     .origin = "the cpu provider of the same release, which it is a build of"},
    {ORT("onnxruntime-web"), .provider = "webgpu", ROWS(webgpu_rows), REST,
     .sure = OX_SURE_PUBLISHED, .origin = "webgpu-operators.md of onnxruntime-web 1.17" BEHIND},
    {.runtime = "onnxruntime-mobile",
     .provider = "cpu",
     .is_default = true,
     .releases = mobile_releases,
     .n_releases = COUNT(mobile_releases),
     ROWS(mobile_rows),
     .sure = OX_SURE_PUBLISHED,
     .functions_from = -1,
     .only_quiet = true,
     .origin = "mobile_package.required_operators.config of onnxruntime 1.14"},
    {.runtime = "openvino",
     .provider = "cpu",
     .is_default = true,
     .releases = openvino_releases,
     .n_releases = COUNT(openvino_releases),
     ROWS(openvino_rows),
     .sure = OX_SURE_MEASURED,
     .functions_from = 0,
     .origin = "openvino's released package: operators that its ONNX frontend read, types not held "
               "against it"},
    {.runtime = "tensorrt",
     .provider = "gpu",
     .is_default = true,
     .releases = tensorrt_releases,
     .n_releases = COUNT(tensorrt_releases),
     ROWS(tensorrt_rows),
     .sure = OX_SURE_PUBLISHED,
     .functions_from = 0,
     .only_quiet = true,
     .origin = "onnx-tensorrt's docs/operators.md of TensorRT 10.1"},
};
const size_t ox_target_n_families = COUNT(ox_target_families);
