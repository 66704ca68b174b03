/* --fp16 and --bf16 of optimize. */
#ifndef CLI_OPTIMIZE_HALF_H
#define CLI_OPTIMIZE_HALF_H

#include "cli.h"

/* Makes the model compute in that type; what does not fit in it, found by running the model on inputs drawn at random times
 * factor, stays in float32, as does what the targets (NULL: the newest onnxruntime on a CPU) have no kernel for. *n_wide: values that do not fit. Has
 * reported errors. */
enum ox_status half_model(struct cli *cli, const char *path, struct ox_model *model,
                          enum ox_dtype dtype, float factor, const struct ox_targets *targets,
                          struct ox_half_report *report, size_t *n_wide);

#endif
