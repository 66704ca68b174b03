#include "graph/convert/convert.h"
#include "schema/schema.h"

static int64_t ir_of_dtype(enum ox_dtype dtype)
{
    static const struct {
        enum ox_dtype dtype;
        int64_t ir;
    } rows[] = {{OX_FLOAT8E4M3FN, 9},   {OX_FLOAT8E4M3FNUZ, 9}, {OX_FLOAT8E5M2, 9},
                {OX_FLOAT8E5M2FNUZ, 9}, {OX_UINT4, 10},         {OX_INT4, 10},
                {OX_FLOAT4E2M1, 11},    {OX_FLOAT8E8M0, 12},    {OX_UINT2, 13},
                {OX_INT2, 13},          {OX_FLOAT6E2M3, 14},    {OX_FLOAT6E3M2, 14}};
    for (size_t i = 0; i < OX_COUNT(rows); i++) {
        if (rows[i].dtype == dtype)
            return rows[i].ir;
    }
    return 1;
}

int64_t ox_convert_needed_ir(const struct ox_model *model)
{
    int64_t ir = model->ir_version < 4 ? model->ir_version : 4;
    for (size_t i = 0; model->graph && i < model->graph->n_inits; i++) {
        const struct ox_value *value = ox_graph_value(model->graph, model->graph->inits[i]->name);
        ir = value && !value->is_input ? 4 : ir;
    }
    if (model->n_functions)
        ir = 8;
    for (size_t i = 0; i < model->n_functions; i++)
        ir = *model->functions[i].overload ? 10 : ir;
    for (size_t g = 0; g < model->n_graphs; g++) {
        const struct ox_graph *graph = model->graphs[g];
        for (size_t i = 0; i < graph->n_inits; i++) {
            int64_t needs = ir_of_dtype(graph->inits[i]->dtype);
            ir = needs > ir ? needs : ir;
        }
    }
    for (size_t i = 0; i < model->n_opsets; i++) {
        int64_t needs = ox_schema_ir_for_opset(model->opsets[i].domain, model->opsets[i].version);
        ir = needs > ir ? needs : ir;
    }
    return ir;
}
