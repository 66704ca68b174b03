/* The public ox_check(): structure, and on demand types, shapes and advice. */
#include "check/findings.h"
#include "check/structure.h"
#include "shape/shapes.h"

enum ox_status ox_check(struct ox_findings **out, struct ox_model *model,
                        const struct ox_check_options *options, struct ox_error *err)
{
    struct ox_findings *findings;
    OX_TRY(ox_findings_new(&findings, model->env, err));
    enum ox_status status = ox_check_structure(findings, model, err);
    if (status == OX_OK && options && options->full)
        status = ox_shapes_check(model, findings, err);
    if (status == OX_OK && options && options->lint)
        status = ox_check_lint(findings, model, err);
    if (status == OX_OK)
        status = ox_findings_status(findings, err);
    if (status != OX_OK) {
        ox_findings_release(findings);
        return status;
    }
    *out = findings;
    return OX_OK;
}
