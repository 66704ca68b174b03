/* Coming down to what targets take. */
#ifndef CLI_TARGET_GOALS_H
#define CLI_TARGET_GOALS_H

#include "cli.h"

enum { TARGET_GOALS = 2 };

/* Domains that the model has newer than all the targets take them, with the newest version that they do. Their number. */
size_t target_goals(const struct ox_targets *targets, const struct ox_model *model,
                    struct ox_opset_goal goals[TARGET_GOALS]);

#endif
