/* What prepare() leaves with nodes that would leave the same: those of layers that share their weights, of a network that is unrolled
 * over time, of heads over maps of several sizes. */
#include <stdlib.h>

#include "common/grow.h"
#include "model/value.h"
#include "runtime/runtime.h"

/* All that decides what is kept: the operator, which inputs are fixed and what they are, and what the operator says beside that. */
static bool make_key(struct ox_strbuf *text, const struct ox_run *r, const void *key, size_t n)
{
    ox_strbuf_add(text, &r->op, sizeof(const struct ox_op *));
    for (size_t i = 0; i < r->n_in; i++) {
        const struct ox_value *value = r->fixed[i] ? ox_value_origin(r->node->inputs[i]) : NULL;
        ox_strbuf_add(text, &value, sizeof(const struct ox_value *));
    }
    ox_strbuf_add(text, key, n);
    return !text->failed;
}

static struct ox_shared_state *add(struct ox_session *session, const struct ox_strbuf *text)
{
    void *list = session->kept;
    if (!ox_grow(&list, &session->cap_kept, session->n_kept, sizeof(struct ox_shared_state *)))
        return NULL;
    session->kept = list;
    struct ox_shared_state *kept = ox_arena_alloc(&session->arena, sizeof *kept);
    const char *stays = ox_arena_strndup(&session->arena, text->data, text->len);
    uint32_t index = (uint32_t)session->n_kept;
    if (!kept || !stays || !ox_strmap_add(&session->kept_of, stays, text->len, &index, NULL))
        return NULL;
    return session->kept[session->n_kept++] = kept;
}

struct ox_shared_state *ox_step_share(struct ox_run *r, const void *key, size_t n)
{
    const struct ox_frame *frame = r->executor;
    struct ox_session *session = frame->session;
    struct ox_strbuf text;
    struct ox_shared_state *kept = NULL;
    ox_strbuf_init(&text);
    if (make_key(&text, r, key, n)) {
        const uint32_t at = ox_strmap_find(&session->kept_of, text.data, text.len);
        kept = at != OX_STRMAP_NONE ? session->kept[at] : add(session, &text);
    }
    ox_strbuf_release(&text);
    return kept;
}

void ox_session_release_kept(struct ox_session *session)
{
    ox_strmap_release(&session->kept_of);
    free(session->kept);
}
