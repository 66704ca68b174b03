#include "quant/channel_stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "quant/kept.h"

static void add_values(struct ox_channel_row *row, size_t c, const float *values, size_t n)
{
    double sum = 0;
    float most = row->most[c];
    for (size_t i = 0; i < n; i++) {
        sum += (double)values[i];
        most = values[i] > most ? values[i] : most;
    }
    row->sums[c] += sum;
    row->most[c] = most;
}

/* Of channel c, whose values those of the next one follow. */
static void add_pairs(struct ox_channel_row *row, size_t c, const float *values, size_t n)
{
    float most = row->both[c];
    for (size_t i = 0; i < n; i++)
        most = values[i] + values[n + i] > most ? values[i] + values[n + i] : most;
    row->both[c] = most;
}

static enum ox_status take_channels(void *arg, const char *name, const struct ox_datum *value,
                                    struct ox_error *err)
{
    struct ox_channels *channels = arg;
    uint32_t at = ox_strmap_find(&channels->index, name, strlen(name));
    const struct ox_tensor *tensor = ox_datum_get_tensor(value);
    if (at == OX_STRMAP_NONE || !tensor || tensor->dtype != OX_FLOAT32 || tensor->rank < 2 ||
        !tensor->n)
        return OX_OK;
    struct ox_channel_row *row = &channels->rows[at];
    unsigned axis = row->second ? 1 : tensor->rank - 1;
    size_t n = (size_t)tensor->dims[axis], inner = 1;
    for (unsigned i = axis + 1; i < tensor->rank; i++)
        inner *= (size_t)tensor->dims[i];
    if (!row->sums) {
        row->sums = ox_arena_array(channels->arena, n, sizeof *row->sums);
        row->most = ox_arena_array(channels->arena, n, sizeof *row->most);
        row->both = ox_arena_array(channels->arena, n, sizeof *row->both);
        if (!row->sums || !row->most || !row->both)
            return ox_no_memory(err);
        row->n = n;
        for (size_t c = 0; c < n; c++)
            row->most[c] = row->both[c] = -INFINITY;
    }
    if (row->n != n)
        return OX_OK;
    const float *values = tensor->data;
    for (size_t k = 0; k < tensor->n / (n * inner); k++) {
        for (size_t c = 0; c < n; c++, values += inner) {
            add_values(row, c, values, inner);
            if (c + 1 < n)
                add_pairs(row, c, values, inner);
        }
    }
    row->count += (double)(tensor->n / n);
    return OX_OK;
}

static bool wants_channels(const struct ox_node *node, bool *spatial)
{
    *spatial = strcmp(node->op_type, "Conv") == 0;
    return !*node->domain && node->n_inputs >= 2 && node->inputs[0] && node->inputs[1] &&
           (*spatial || strcmp(node->op_type, "Gemm") == 0 ||
            (strcmp(node->op_type, "MatMul") == 0 && ox_value_stored(node->inputs[1])));
}

static enum ox_status add_row(struct ox_channels *channels, const char *name, bool spatial,
                              struct ox_error *err)
{
    uint32_t at = (uint32_t)channels->n_rows;
    bool is_new;
    if (!ox_strmap_add(&channels->index, name, strlen(name), &at, &is_new))
        return ox_no_memory(err);
    if (!is_new)
        return OX_OK;
    channels->rows[channels->n_rows++] = (struct ox_channel_row){.name = name, .second = spatial};
    return OX_OK;
}

enum ox_status ox_channels_find(struct ox_channels *channels, struct ox_arena *arena,
                                struct ox_model *model, const struct ox_calibration *c,
                                struct ox_error *err)
{
    const struct ox_graph *graph = model->graph;
    struct ox_session *session = NULL;
    struct ox_datum **outputs = NULL;
    struct ox_run_options run = {.level = 2, .on_value = take_channels, .value_arg = channels};
    const char **watched = NULL;
    size_t n = 0;
    enum ox_status status;
    *channels = (struct ox_channels){.arena = arena};
    ox_strmap_init(&channels->index);
    channels->rows = ox_arena_array(arena, graph->n_nodes + 1, sizeof *channels->rows);
    if (!channels->rows)
        return ox_no_memory(err);
    for (size_t i = 0; i < graph->n_nodes; i++) {
        bool spatial;
        if (wants_channels(graph->nodes[i], &spatial))
            OX_TRY(add_row(channels, graph->nodes[i]->inputs[0]->name, spatial, err));
    }
    watched = ox_arena_array(arena, channels->n_rows + 1, sizeof *watched);
    if (!watched)
        return ox_no_memory(err);
    for (size_t i = 0; i < channels->n_rows; i++)
        watched[i] = channels->rows[i].name;
    run.watched = watched;
    run.n_watched = channels->n_rows;
    OX_TRY_CLEANUP(ox_session_new(&session, model, &run, err));
    n = ox_session_n_outputs(session);
    outputs = calloc(n + 1, sizeof *outputs);
    OX_TRY_CLEANUP(outputs ? OX_OK : ox_no_memory(err));
    for (size_t i = 0; i < c->n_kept; i++) {
        if (ox_kept_held_out(i) && c->n_kept > 1)
            continue;
        for (size_t k = 0; k < c->n_inputs; k++) {
            struct ox_datum *input = NULL;
            if (c->kept[i].inputs[k])
                OX_TRY_CLEANUP(ox_datum_of_tensor(&input, c->kept[i].inputs[k], err));
            if (input)
                status = take_channels(channels, c->inputs[k], input, err);
            ox_datum_release(input);
            OX_TRY_CLEANUP(status);
        }
        OX_TRY_CLEANUP(ox_kept_run(c, session, &c->kept[i], outputs, err));
        ox_kept_drop(outputs, n);
    }
cleanup:
    free(outputs);
    ox_session_release(session);
    return status;
}

void ox_channels_release(struct ox_channels *channels)
{
    ox_strmap_release(&channels->index);
}

const struct ox_channel_row *ox_channels_of(const struct ox_channels *channels, const char *name)
{
    uint32_t at = ox_strmap_find(&channels->index, name, strlen(name));
    return at == OX_STRMAP_NONE || !channels->rows[at].sums ? NULL : &channels->rows[at];
}
