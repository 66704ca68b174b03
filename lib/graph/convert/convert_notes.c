/* What a conversion reports. */
#include <stdlib.h>
#include <string.h>

#include "graph/convert/convert_job.h"

static char *text_of(struct ox_arena *arena, struct ox_strbuf *text)
{
    char *copy = ox_arena_text(arena, text);
    ox_strbuf_release(text);
    return copy;
}

enum ox_status ox_convert_note(struct ox_convert_job *job, const struct ox_node *node, bool blocked,
                               int64_t from, int64_t to, const char *reason)
{
    struct ox_conversion *r = job->result;
    struct ox_strbuf graph, label;
    if (r->n_notes == r->cap_notes) {
        size_t cap = r->cap_notes ? r->cap_notes * 2 : 16;
        struct ox_convert_note *notes = ox_arena_array(&r->arena, cap, sizeof *notes);
        if (!notes)
            return ox_convert_no_room(job);
        if (r->n_notes)
            memcpy(notes, r->notes, r->n_notes * sizeof *notes);
        r->notes = notes;
        r->cap_notes = cap;
    }
    ox_strbuf_init(&graph);
    ox_strbuf_init(&label);
    ox_graph_path(&graph, node->graph);
    ox_node_label(&label, node);
    struct ox_convert_note *note = &r->notes[r->n_notes];
    *note = (struct ox_convert_note){.blocked = blocked,
                                     .graph = text_of(&r->arena, &graph),
                                     .node = text_of(&r->arena, &label),
                                     .op_type = ox_arena_strdup(&r->arena, node->op_type),
                                     .domain = ox_arena_strdup(&r->arena, node->domain),
                                     .reason = ox_arena_strdup(&r->arena, reason),
                                     .from = from,
                                     .to = to};
    if (!note->graph || !note->node || !note->op_type || !note->domain || !note->reason)
        return ox_convert_no_room(job);
    r->n_notes++;
    r->n_blocked += blocked;
    return OX_OK;
}

void ox_conversion_release(struct ox_conversion *conversion)
{
    if (!conversion)
        return;
    ox_arena_release(&conversion->arena);
    free(conversion);
}

size_t ox_conversion_count(const struct ox_conversion *conversion)
{
    return conversion->n_notes;
}

const struct ox_convert_note *ox_conversion_at(const struct ox_conversion *conversion, size_t i)
{
    return &conversion->notes[i];
}

size_t ox_conversion_blocked(const struct ox_conversion *conversion)
{
    return conversion->n_blocked;
}

size_t ox_conversion_changed(const struct ox_conversion *conversion)
{
    return conversion->n_changed;
}

int64_t ox_conversion_ir(const struct ox_conversion *conversion, int64_t *before)
{
    if (before)
        *before = conversion->ir_before;
    return conversion->ir_after;
}
