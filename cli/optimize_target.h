/* Results that targets take: optimize --for, convert-opset --target. */
#ifndef CLI_OPTIMIZE_TARGET_H
#define CLI_OPTIMIZE_TARGET_H

#include "cli.h"

struct for_targets {
    struct ox_targets *targets;
    size_t *
        fallback; /* by target: nodes that its provider leaves to another before the passes; NULL: as many as there are */
};

/* Finds the targets and brings the model down to the versions that they take. Has reported errors; OX_NEGATIVE: nodes cannot be
 * brought there, or a target does not load the model all the same. */
enum ox_status for_targets_begin(struct cli *cli, const char *path, const struct opt_strings *names,
                                 struct ox_model *model, struct for_targets *out);
/* Whether all targets still load the model and their providers leave no more to others; else the reason. */
enum ox_status for_targets_judge(struct cli *cli, const struct for_targets *targets,
                                 struct ox_model *model, bool *good, char reason[OX_ERROR_BYTES]);
void for_targets_release(struct for_targets *targets);

#endif
