#include "target_goals.h"

#include <string.h>

static int64_t lesser(int64_t a, int64_t b)
{
    return !a || (b && b < a) ? b : a;
}

size_t target_goals(const struct ox_targets *targets, const struct ox_model *model,
                    struct ox_opset_goal goals[TARGET_GOALS])
{
    static const char *const domains[TARGET_GOALS] = {"ai.onnx", "ai.onnx.ml"};
    int64_t newest[TARGET_GOALS] = {0}; /* 0: any */
    size_t n = 0;
    for (size_t i = 0; i < ox_targets_count(targets); i++) {
        struct ox_target_info info;
        ox_target_info(ox_targets_at(targets, i), &info);
        newest[0] = lesser(newest[0], info.opset);
        newest[1] = lesser(newest[1], info.ml_opset);
    }
    for (size_t i = 0; i < ox_model_n_opsets(model); i++) {
        int64_t version;
        const char *domain = ox_model_opset(model, i, &version);
        for (size_t k = 0; k < TARGET_GOALS; k++)
            if (strcmp(domain, domains[k]) == 0 && newest[k] && version > newest[k] &&
                n < TARGET_GOALS)
                goals[n++] = (struct ox_opset_goal){domains[k], newest[k]};
    }
    return n;
}
