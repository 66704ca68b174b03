/* Values that follow from sizes alone: made once, and again when a size changes. What exporters write for models whose sizes are
 * open (positions, masks, shapes to reshape to) is most of the nodes of many a small model. */
#include <stdlib.h>
#include <string.h>

#include "runtime/runtime.h"

enum {
    MOST_OF_STEP = 1 << 18, /* bytes that a step keeps */
    MOST_OF_PLAN = 1 << 22
};

struct ox_shaped {
    struct ox_datum **kept; /* outputs of the step; NULL: none yet */
    uint64_t bytes;
    bool measures; /* Shape or Size of a value that does not follow from sizes */
    unsigned rank; /* of what was measured */
    int64_t *dims;
};

static bool measures(const struct ox_node *node)
{
    return !*node->domain && node->n_inputs == 1 && node->inputs[0] && !node->inputs[0]->outer &&
           (strcmp(node->op_type, "Shape") == 0 || strcmp(node->op_type, "Size") == 0);
}

static bool is_pure(const struct ox_step *step)
{
    const struct ox_node *node = step->node;
    return step->op && !ox_node_has_graphs(node) && !(step->op->flags & OX_OP_RANDOM) &&
           step->op == ox_op_find(node->domain, node->op_type, step->opset);
}

static bool follows(const struct ox_node *node, const bool *known)
{
    for (size_t i = 0; i < node->n_inputs; i++) {
        const struct ox_value *value = node->inputs[i];
        const bool fixed = value && value->init && !value->is_input;
        if (value && (value->outer || !(fixed || known[value->id])))
            return false;
    }
    return node->n_inputs > 0;
}

enum ox_status ox_shaped_plan(struct ox_session *session, struct ox_plan *plan,
                              struct ox_error *err)
{
    const struct ox_run_options *o = &session->options;
    if (o->level < 2 || o->oracle || o->once || o->lean || o->all_values || o->on_value ||
        o->on_replace || o->on_body_value)
        return OX_OK;
    bool *known = ox_arena_array(&session->scratch, plan->graph->n_values + 1, sizeof *known);
    if (!known)
        return ox_no_memory(err);
    for (size_t i = 0; i < plan->n_steps; i++) {
        struct ox_step *step = &plan->steps[i];
        const struct ox_node *node = step->node;
        const bool of_known = follows(node, known);
        if (!step->keep && !(is_pure(step) && (of_known || measures(node))))
            continue;
        for (size_t k = 0; k < node->n_outputs; k++)
            if (node->outputs[k])
                known[node->outputs[k]->id] = true;
        if (step->keep)
            continue;
        step->shaped = ox_arena_alloc(&session->arena, sizeof *step->shaped);
        if (!step->shaped)
            return ox_no_memory(err);
        step->shaped->measures = !of_known;
    }
    return OX_OK;
}

static void drop(struct ox_plan *plan, const struct ox_step *step)
{
    struct ox_shaped *shaped = step->shaped;
    if (!shaped || !shaped->kept)
        return;
    for (size_t i = 0; i < step->node->n_outputs; i++)
        ox_datum_release(shaped->kept[i]);
    free(shaped->kept);
    free(shaped->dims);
    shaped->kept = NULL;
    shaped->dims = NULL;
    plan->shaped_bytes -= shaped->bytes;
}

void ox_shaped_drop(struct ox_plan *plan)
{
    for (size_t i = 0; i < plan->n_steps; i++)
        drop(plan, &plan->steps[i]);
}

/* What a Shape or Size measures; NULL: no tensor. */
static const struct ox_tensor *measured(const struct ox_frame *frame, const struct ox_step *step)
{
    const struct ox_datum *datum = frame->slots[step->node->inputs[0]->id];
    return datum && datum->kind == OX_DATUM_TENSOR ? datum->tensor : NULL;
}

bool ox_shaped_take(struct ox_frame *frame, const struct ox_step *step)
{
    const struct ox_shaped *shaped = step->shaped;
    if (!shaped->kept || frame->plan->shaped_off)
        return false;
    if (shaped->measures) {
        const struct ox_tensor *now = measured(frame, step);
        if (!now || now->rank != shaped->rank ||
            memcmp(now->dims, shaped->dims, now->rank * sizeof *now->dims) != 0) {
            /* All that may follow from it comes after it. */
            for (const struct ox_step *s = step; s < frame->plan->steps + frame->plan->n_steps; s++)
                drop(frame->plan, s);
            return false;
        }
    }
    const uint32_t *ids = step->ids + step->node->n_inputs;
    for (size_t i = 0; i < step->node->n_outputs; i++)
        if (shaped->kept[i])
            frame->slots[ids[i]] = ox_datum_ref(shaped->kept[i]);
    return true;
}

/* Bytes of what a step has made; more than may be kept when it is not all tensors. */
static uint64_t bytes_made(const struct ox_frame *frame, const struct ox_node *node)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < node->n_outputs; i++) {
        const struct ox_datum *made = node->outputs[i] ? frame->slots[node->outputs[i]->id] : NULL;
        if (made && made->kind != OX_DATUM_TENSOR)
            return UINT64_MAX;
        bytes += made ? ox_datum_bytes(made) : 0;
    }
    return bytes;
}

void ox_shaped_keep(struct ox_frame *frame, const struct ox_step *step)
{
    struct ox_shaped *shaped = step->shaped;
    const struct ox_node *node = step->node;
    const struct ox_tensor *from = shaped->measures ? measured(frame, step) : NULL;
    const uint64_t bytes = bytes_made(frame, node);
    /* What is measured is kept always: by it what follows is known to be old. */
    const bool fits = shaped->measures ? from != NULL
                                       : bytes <= MOST_OF_STEP &&
                                             frame->plan->shaped_bytes + bytes <= MOST_OF_PLAN;
    frame->plan->shaped_off |= shaped->measures && !fits; /* of a sparse tensor, say */
    if (!fits || frame->plan->shaped_off)
        return;
    const unsigned rank = from ? from->rank : 0;
    struct ox_datum **kept = calloc(node->n_outputs + 1, sizeof(struct ox_datum *));
    int64_t *dims = malloc((rank + 1) * sizeof *dims);
    if (!kept || !dims) {
        frame->plan->shaped_off = true;
        free(kept);
        free(dims);
        return;
    }
    for (size_t i = 0; i < node->n_outputs; i++)
        if (node->outputs[i] && frame->slots[node->outputs[i]->id])
            kept[i] = ox_datum_ref(frame->slots[node->outputs[i]->id]);
    if (from)
        memcpy(dims, from->dims, rank * sizeof *dims);
    *shaped = (struct ox_shaped){
        .kept = kept, .bytes = bytes, .measures = shaped->measures, .rank = rank, .dims = dims};
    frame->plan->shaped_bytes += bytes;
}
