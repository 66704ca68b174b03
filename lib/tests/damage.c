#include "tests/damage.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- Bytes ------------------------------------------------------------------------------------------------------ */

uint64_t damage_next(uint64_t *state)
{
    *state += 0x9E3779B97F4A7C15u;
    uint64_t x = (*state ^ *state >> 30) * 0xBF58476D1CE4E5B9u;
    x = (x ^ x >> 27) * 0x94D049BB133111EBu;
    return x ^ x >> 31;
}

static uint8_t new_byte(uint8_t old, uint64_t *state)
{
    static const uint8_t extremes[] = {0, 1, 2, 3, 4, 7, 8, 9, 16, 0x7F, 0x80, 0xFF};
    switch (damage_next(state) % 3) {
    case 0:
        return (uint8_t)(old ^ 1u << damage_next(state) % 8);
    case 1:
        return extremes[damage_next(state) % sizeof extremes];
    default:
        return (uint8_t)damage_next(state);
    }
}

/* A number as protobuf writes it that lengths and sizes do not expect. */
static size_t extreme_number(uint8_t *at, uint64_t *state)
{
    static const uint64_t numbers[] = {0,
                                       1,
                                       0x7F,
                                       0x80,
                                       0xFFFF,
                                       INT32_MAX,
                                       (uint64_t)INT32_MAX + 1,
                                       UINT32_MAX,
                                       INT64_MAX,
                                       (uint64_t)INT64_MAX + 1,
                                       UINT64_MAX};
    uint64_t value = numbers[damage_next(state) % (sizeof numbers / sizeof numbers[0])];
    size_t n = 0;
    for (; value > 0x7F; value >>= 7)
        at[n++] = (uint8_t)(value | 0x80);
    at[n++] = (uint8_t)value;
    return n;
}

/* Puts `with` where `old` bytes were at `at`; 16 bytes more at the most. */
static size_t replace(uint8_t *bytes, size_t n, size_t at, size_t old, const uint8_t *with,
                      size_t n_with)
{
    memmove(bytes + at + n_with, bytes + at + old, n - at - old);
    memcpy(bytes + at, with, n_with);
    return n - old + n_with;
}

size_t damage_bytes(uint8_t *bytes, size_t n, uint64_t *state)
{
    enum { MOST = 16 };
    uint64_t left = damage_next(state) % 4 ? 1 : 1 + damage_next(state) % 4;
    for (; left > 0 && n > MOST; left--) {
        size_t at = damage_next(state) % (n - MOST), from = damage_next(state) % (n - MOST);
        size_t some = 1 + damage_next(state) % (MOST - 1);
        uint8_t piece[MOST];
        switch (damage_next(state) % 16) {
        case 0:
            for (size_t i = 0; i < some; i++)
                piece[i] = (uint8_t)damage_next(state);
            n = replace(bytes, n, at, 0, piece, some);
            break;
        case 1:
            n = replace(bytes, n, at, some, piece, 0);
            break;
        case 2:
        case 3:
            memcpy(piece, bytes + from, some);
            n = replace(bytes, n, at, damage_next(state) % 4 ? some : 0, piece, some);
            break;
        case 4:
            n -= damage_next(state) % 8 ? some : n - at;
            break;
        case 5:
        case 6:
            some = extreme_number(piece, state);
            n = replace(bytes, n, at, 1, piece, some);
            break;
        default:
            at = damage_next(state) % n;
            bytes[at] = new_byte(bytes[at], state);
        }
    }
    return n;
}

/* ---- Models ----------------------------------------------------------------------------------------------------- */

enum { MOST_VALUES = 64 };

/* Whether a file may be the cause of that. */
static bool fair(struct damage_context *c, enum ox_status status, const struct ox_error *err,
                 const char *where)
{
    if (status == OX_OK)
        return true;
    bool known = status == OX_INPUT || status == OX_UNSUPPORTED || status == OX_NO_MEMORY ||
                 status == OX_LIMIT || status == OX_CANCELLED;
    if (known && err->message[0] && err->status == status)
        return true;
    snprintf(c->why, sizeof c->why, "%s ends with \"%s\": %.300s", where, ox_status_text(status),
             err->message);
    return false;
}

static bool check(struct damage_context *c, struct ox_model *model)
{
    struct ox_error err = {0};
    struct ox_findings *findings = NULL;
    struct ox_check_options all = {.full = true, .lint = true};
    enum ox_status status = ox_check(&findings, model, &all, &err);
    bool good = true;
    for (size_t i = 0; status == OX_OK && good && i < ox_findings_count(findings); i++) {
        const struct ox_finding *finding = ox_findings_at(findings, i);
        good = finding->id && finding->message && finding->message[0] && finding->graph;
        if (!good)
            snprintf(c->why, sizeof c->why, "finding %zu says nothing", i);
    }
    ox_findings_release(findings);
    return good && fair(c, status, &err, "check");
}

static enum ox_status judge(struct damage_context *c, struct ox_model *model,
                            const struct ox_shapes *shapes, const struct ox_costs *costs,
                            struct ox_error *err)
{
    struct ox_targets *targets = NULL;
    struct ox_target_survey *survey = NULL;
    const struct ox_target_verdict *verdict;
    enum ox_status status = ox_targets_new(&targets, c->env, err);
    if (status == OX_OK)
        status = ox_targets_add(targets, "onnxruntime", err);
    if (status == OX_OK)
        status = ox_target_survey_new(&survey, model, shapes, costs, err);
    if (status == OX_OK)
        status = ox_target_judge(&verdict, survey, ox_targets_at(targets, 0), err);
    ox_target_survey_release(survey);
    ox_targets_release(targets);
    return status;
}

static bool draw(struct damage_context *c, struct ox_model *model, struct ox_shapes *shapes,
                 struct ox_costs *costs)
{
    struct ox_error err = {0};
    struct ox_strbuf out;
    struct ox_draw_options how = {.form = (enum ox_drawing)(c->choice % 3)};
    ox_strbuf_init(&out);
    enum ox_status status = ox_draw(&out, model, shapes, costs, &how, &err);
    ox_strbuf_release(&out);
    return fair(c, status, &err, "drawing");
}

/* Summary, nodes and tensors. */
static bool dump(struct damage_context *c, struct ox_model *model)
{
    struct ox_error err = {0};
    struct ox_shapes *shapes = NULL;
    struct ox_costs *costs = NULL;
    struct ox_summary *summary = NULL;
    struct ox_weight_list *weights = NULL;
    struct ox_shape_entry value;
    struct ox_node_entry node;
    enum ox_status status = ox_shapes_infer(&shapes, model, NULL, NULL, &err);
    for (size_t i = 0; status == OX_OK && i < ox_shapes_count(shapes); i++)
        ox_shapes_at(shapes, i, &value);
    if (status == OX_OK)
        status = ox_costs_new(&costs, model, shapes, &err);
    for (size_t i = 0; status == OX_OK && i < ox_costs_count(costs); i++)
        ox_costs_node(costs, i, 8, &node);
    if (status == OX_OK)
        status = ox_summary_new(&summary, model, shapes, costs, &err);
    if (status == OX_OK && c->choice % 4 == 0)
        status = judge(c, model, shapes, costs, &err);
    bool good = status == OX_OK && c->choice % 4 == 1 ? draw(c, model, shapes, costs) : true;
    ox_summary_release(summary);
    if (status == OX_OK)
        status = ox_weight_list_new(&weights, model, &err);
    for (size_t i = 0; status == OX_OK && i < ox_weight_list_count(weights); i++) {
        struct ox_weight_stats stats;
        struct ox_error ignored;
        ox_weight_list_stats(&stats, weights, i, NULL, 0, &ignored);
    }
    ox_weight_list_release(weights);
    ox_costs_release(costs);
    ox_shapes_release(shapes);
    return good && fair(c, status, &err, "dump");
}

/* The text is read again, which it need not allow: names may hold anything. */
static bool print(struct damage_context *c, struct ox_model *model)
{
    struct ox_error err = {0};
    struct ox_strbuf out;
    struct ox_model *again = NULL;
    struct ox_model_print_options how = {
        .format = (enum ox_format)(OX_FORMAT_TEXT + c->choice % 3),
        .weights = (enum ox_weights)(c->choice / 3 % 3),
        .pretty = c->choice % 5 == 0,
    };
    ox_strbuf_init(&out);
    enum ox_status status = ox_model_print(&out, model, &how, &err);
    bool good = fair(c, status, &err, "printing");
    if (good && status == OX_OK) {
        status = ox_model_open_memory(&again, c->env, out.data, out.len, NULL, &err);
        good = fair(c, status, &err, "reading what was printed");
    }
    ox_model_release(again);
    ox_strbuf_release(&out);
    return good;
}

static bool save(struct damage_context *c, struct ox_model *model)
{
    struct ox_error err = {0};
    char path[] = "/dev/shm/ox_fuzz_XXXXXX"; /* in memory: a disk would be waited for */
    int fd = mkstemp(path);
    if (fd < 0)
        return true;
    close(fd);
    enum ox_status status = ox_model_save(model, path, NULL, &err);
    remove(path);
    return fair(c, status, &err, "writing");
}

/* With the case's own values as far as the model still takes them, else with such as it asks for. */
static enum ox_status feed(struct damage_context *c, struct ox_session *session,
                           struct ox_datum **out, bool own, struct ox_error *err)
{
    struct ox_datum *in[MOST_VALUES] = {0};
    size_t n_in = ox_session_n_inputs(session), n_out = ox_session_n_outputs(session);
    const uint8_t *at = c->from->sets;
    enum ox_status status = OX_OK;
    if (own)
        suite_values(c->from, &at, in, MOST_VALUES);
    for (size_t i = 0; !own && status == OX_OK && i < n_in; i++)
        if (ox_session_input_required(session, i))
            status = ox_session_random_input(session, i, c->choice, NULL, &in[i], err);
    if (status == OX_OK)
        status = ox_session_run(session, in, out, err);
    for (size_t i = 0; status == OX_OK && i < n_out; i++)
        ox_datum_release(out[i]);
    for (size_t i = 0; i < MOST_VALUES; i++)
        ox_datum_release(in[i]);
    return status;
}

static bool run(struct damage_context *c, struct ox_model *model)
{
    struct ox_error err = {0};
    struct ox_session *session = NULL;
    struct ox_run_options how = {.level = c->choice % 2 ? 2 : 0,
                                 .oracle = c->choice % 16 == 0,
                                 .all_values = c->choice % 8 == 2};
    enum ox_status status = ox_session_new(&session, model, &how, &err);
    bool good = fair(c, status, &err, "planning");
    c->reached[DAMAGE_PLANNED] = status == OX_OK;
    if (status == OX_OK && ox_session_n_inputs(session) <= MOST_VALUES) {
        struct ox_datum **out =
            calloc(ox_session_n_outputs(session) + 1, sizeof(struct ox_datum *));
        status = out ? feed(c, session, out, true, &err) : OX_OK;
        good = fair(c, status, &err, "running");
        if (out && status != OX_OK && good) {
            status = feed(c, session, out, false, &err);
            good = fair(c, status, &err, "running with random inputs");
        }
        c->reached[DAMAGE_RUN] = status == OX_OK;
        free(out);
    }
    ox_session_release(session);
    return good;
}

bool damage_survive(struct damage_context *c, const uint8_t *bytes, size_t n)
{
    struct ox_error err = {0};
    struct ox_model *model = NULL;
    enum ox_status status = ox_model_open_memory(&model, c->env, bytes, n, NULL, &err);
    bool good = fair(c, status, &err, "opening");
    c->reached[DAMAGE_OPENED] = status == OX_OK;
    if (status == OX_OK)
        good = check(c, model) && dump(c, model) && print(c, model) &&
               (c->choice % 8 || save(c, model)) && run(c, model);
    ox_model_release(model);
    return good;
}
