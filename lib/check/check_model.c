/* Rules of the model as a whole: versions, imports, metadata. And the walk's entry. */
#include <stdlib.h>
#include <string.h>

#include "check/structure.h"
#include "proto/onnx.pb-c.h"
#include "schema/schema.h"

static void check_ir_version(struct ox_checker *c)
{
    const struct ox_model *model = c->model;
    if (model->proto && (!model->proto->has_ir_version || model->ir_version == 0))
        ox_findings_add(c->findings, OX_F_MODEL_IR_MISSING, NULL,
                        "set ir_version; 8 is read by every runtime since 2021",
                        "ir_version is not set");
    else if (model->ir_version > OX_ONNX_IR_VERSION || model->ir_version < 0)
        ox_findings_add(c->findings, OX_F_MODEL_IR_UNKNOWN, NULL, NULL,
                        "ir_version is %lld; onnx %s knows 1 to %d", (long long)model->ir_version,
                        OX_ONNX_VERSION, OX_ONNX_IR_VERSION);
}

static void check_import(struct ox_checker *c, size_t at)
{
    const struct ox_opset *import = &c->model->opsets[at];
    const char *domain = *import->domain ? import->domain : "ai.onnx";
    if (import->version < 1 || import->version > INT32_MAX)
        ox_findings_add(c->findings, OX_F_MODEL_OPSET_RANGE, NULL, NULL,
                        "opset version %lld of domain %s", (long long)import->version, domain);
    else if (ox_schema_domain_known(import->domain) &&
             import->version > ox_schema_newest(import->domain))
        ox_findings_add(c->findings, OX_F_MODEL_OPSET_UNKNOWN, NULL, NULL,
                        "opset version %lld of domain %s; onnx %s knows versions up to %d",
                        (long long)import->version, domain, OX_ONNX_VERSION,
                        ox_schema_newest(import->domain));
    for (size_t i = 0; i < at; i++)
        if (strcmp(c->model->opsets[i].domain, import->domain) == 0) {
            ox_findings_add(c->findings, OX_F_MODEL_OPSET_TWICE, NULL, "keep one entry",
                            "domain %s is imported as version %lld and again as %lld", domain,
                            (long long)c->model->opsets[i].version, (long long)import->version);
            return;
        }
}

static void check_imports(struct ox_checker *c)
{
    const struct ox_model *model = c->model;
    if (model->ir_version >= 3 && model->n_opsets == 0)
        ox_findings_add(c->findings, OX_F_MODEL_OPSET_MISSING, NULL,
                        "add an opset_import for each domain in use", "opset_import is empty");
    if (model->ir_version < 3 && model->ir_version > 0 && model->n_opsets > 0)
        ox_findings_add(c->findings, OX_F_MODEL_OPSET_EARLY, NULL, "set ir_version to 3 or more",
                        "ir_version is %lld, yet there are %zu opset imports",
                        (long long)model->ir_version, model->n_opsets);
    for (size_t i = 0; i < model->n_opsets; i++)
        check_import(c, i);
}

static void check_metadata(struct ox_checker *c)
{
    const struct Onnx__ModelProto *proto = c->model->proto;
    struct ox_strmap seen;
    ox_strmap_init(&seen);
    for (size_t i = 0; proto && i < proto->n_metadata_props; i++) {
        const char *key = proto->metadata_props[i]->key ? proto->metadata_props[i]->key : "";
        uint32_t at = (uint32_t)i;
        bool is_new = true;
        if (!ox_strmap_add(&seen, key, strlen(key), &at, &is_new))
            break;
        if (!is_new)
            ox_findings_add(c->findings, OX_F_MODEL_METADATA_TWICE, NULL, NULL,
                            "metadata key '%s' appears again", key);
    }
    ox_strmap_release(&seen);
}

static void check_rules(struct ox_checker *c)
{
    check_ir_version(c);
    check_imports(c);
    check_metadata(c);
    if (!c->model->graph)
        ox_findings_add(c->findings, OX_F_MODEL_GRAPH_MISSING, NULL, NULL, "there is no graph");
}

enum ox_status ox_check_structure(struct ox_findings *findings, struct ox_model *model,
                                  struct ox_error *err)
{
    struct ox_checker c = {.model = model, .findings = findings};
    enum ox_status status = OX_OK;
    c.defined = calloc(model->n_graphs + 1, sizeof *c.defined);
    if (!c.defined)
        return ox_fail(err, OX_NO_MEMORY, "%s: out of memory", model->path);
    for (size_t i = 0; i < model->n_graphs; i++) {
        c.defined[i] = calloc(model->graphs[i]->n_values + 1, sizeof **c.defined);
        if (!c.defined[i]) {
            status = ox_fail(err, OX_NO_MEMORY, "%s: out of memory", model->path);
            goto cleanup;
        }
    }
    check_rules(&c);
    if (model->graph)
        ox_check_graph(&c, model->graph);
    ox_check_functions(&c);
    /* What hangs on no node: training graphs. */
    for (size_t i = 0; i < model->n_graphs; i++)
        if (model->graphs[i] != model->graph && !model->graphs[i]->parent &&
            !model->graphs[i]->function)
            ox_check_graph(&c, model->graphs[i]);
    status = ox_findings_status(findings, err);
cleanup:
    for (size_t i = 0; i < model->n_graphs; i++)
        free(c.defined[i]);
    free(c.defined);
    return status;
}
