#include <stdlib.h>
#include <string.h>

#include "ops/control_types.h"
#include "ops/infer.h"
#include "ops/op.h"
#include "ops/stacking.h"

/* Scan of opset 8 has a batch axis, and lengths that differ by batch; from opset 9 on each input and output has an axis of its
 * own. The trips over one sequence are the same. */

struct scan {
    const struct ox_graph *body;
    size_t n_states, n_scans; /* inputs of the body: states first */
    size_t n_stacked;         /* outputs of the body after the states */
    struct ox_datum **in, **out;
    struct ox_stack *stacked; /* one for each stacked output */
};

/* An input to be scanned. */
struct scanned {
    const struct ox_tensor *tensor;
    unsigned axis;
    bool reverse;
};

static void clear(struct ox_datum **data, size_t n)
{
    for (size_t i = 0; data && i < n; i++) {
        ox_datum_release(data[i]);
        data[i] = NULL;
    }
}

static enum ox_status begin(struct ox_run *r, struct scan *scan, size_t n_in, struct ox_error *err)
{
    scan->body = ox_run_graph(r, "body");
    if (!scan->body)
        return ox_run_fail(r, err, OX_INPUT, "attribute 'body' holds no graph");
    int64_t n_scans = ox_run_int(r, "num_scan_inputs", 0);
    if (n_scans < 1 || (uint64_t)n_scans > n_in)
        return ox_run_fail(r, err, OX_INPUT, "num_scan_inputs is %lld for %zu inputs",
                           (long long)n_scans, n_in);
    scan->n_scans = (size_t)n_scans;
    scan->n_states = n_in - scan->n_scans;
    if (scan->body->n_outputs != r->n_out || r->n_out < scan->n_states)
        return ox_run_fail(r, err, OX_INPUT,
                           "the body has %zu outputs, the node %zu; there are %zu states",
                           scan->body->n_outputs, r->n_out, scan->n_states);
    scan->n_stacked = r->n_out - scan->n_states;
    scan->in = ox_run_scratch(r, n_in + 1, sizeof(struct ox_datum *), err);
    scan->out = ox_run_scratch(r, r->n_out + 1, sizeof(struct ox_datum *), err);
    scan->stacked = ox_run_scratch(r, scan->n_stacked + 1, sizeof *scan->stacked, err);
    return scan->in && scan->out && scan->stacked ? OX_OK : OX_NO_MEMORY;
}

static void end(struct ox_run *r, struct scan *scan)
{
    clear(scan->in, scan->in ? scan->n_states + scan->n_scans : 0);
    clear(scan->out, scan->out ? r->n_out : 0);
    for (size_t i = 0; scan->stacked && i < scan->n_stacked; i++)
        ox_stack_release(&scan->stacked[i]);
}

/* One sequence: states are in scan->in; afterwards too. */
static enum ox_status run_trips(struct ox_run *r, struct scan *scan, const struct scanned *scanned,
                                int64_t length, struct ox_error *err)
{
    for (int64_t trip = 0; trip < length; trip++) {
        OX_TRY(ox_env_poll(r->env, err));
        for (size_t i = 0; i < scan->n_scans; i++) {
            struct ox_datum **slot = &scan->in[scan->n_states + i];
            struct ox_tensor *slice;
            int64_t index = scanned[i].reverse ? length - 1 - trip : trip;
            ox_datum_release(*slot);
            *slot = NULL;
            OX_TRY(ox_slice_at(r, scanned[i].tensor, scanned[i].axis, index, &slice, err));
            enum ox_status status = ox_datum_of_tensor(slot, slice, err);
            ox_tensor_release(slice);
            OX_TRY(status);
        }
        OX_TRY(r->subgraph(r, scan->body, scan->in, scan->n_states + scan->n_scans, scan->out,
                           r->n_out, err));
        for (size_t i = 0; i < r->n_out; i++) {
            if (!scan->out[i])
                return ox_run_fail(r, err, OX_INPUT, "the body did not make output %zu", i);
            if (i >= scan->n_states) {
                OX_TRY(ox_stack_push(r, &scan->stacked[i - scan->n_states], scan->out[i], err));
                continue;
            }
            ox_datum_release(scan->in[i]);
            scan->in[i] = scan->out[i];
            scan->out[i] = NULL;
        }
        clear(scan->out, r->n_out);
    }
    return OX_OK;
}

/* A list attribute with an entry for each of n, or none. */
static enum ox_status list_attr(const struct ox_run *r, const char *name, size_t n,
                                const int64_t **values, struct ox_error *err)
{
    size_t n_given;
    *values = ox_run_ints(r, name, &n_given);
    if (*values && n_given != n)
        return ox_run_fail(r, err, OX_INPUT, "%s has %zu entries, not %zu", name, n_given, n);
    return OX_OK;
}

static enum ox_status check_direction(const struct ox_run *r, int64_t direction, bool *reverse,
                                      struct ox_error *err)
{
    if (direction != 0 && direction != 1)
        return ox_run_fail(r, err, OX_INPUT, "a direction is %lld, neither 0 nor 1",
                           (long long)direction);
    *reverse = direction == 1;
    return OX_OK;
}

/* Prepares the inputs from r->in[first] on; their sequences must be of one length. */
static enum ox_status prepare(struct ox_run *r, const struct scan *scan, size_t first,
                              const int64_t *axes, const int64_t *directions,
                              struct scanned *scanned, int64_t *length, struct ox_error *err)
{
    for (size_t i = 0; i < scan->n_scans; i++) {
        const struct ox_tensor *tensor = ox_run_in(r, first + i);
        scanned[i].tensor = tensor;
        OX_TRY(ox_run_axis(r, axes ? axes[i] : 0, tensor->rank, &scanned[i].axis, err));
        OX_TRY(check_direction(r, directions ? directions[i] : 0, &scanned[i].reverse, err));
        int64_t n = tensor->dims[scanned[i].axis];
        if (i > 0 && n != *length)
            return ox_run_fail(r, err, OX_INPUT,
                               "scan input %zu has a sequence of %lld, the first one of %lld", i,
                               (long long)n, (long long)*length);
        *length = n;
    }
    return OX_OK;
}

/* No trip is made: one on zeros, whose results are left in scan->out, tells the shapes that the body does not declare. What it
 * fails of is no error. */
static enum ox_status try_trip(struct ox_run *r, struct scan *scan, const struct scanned *scanned,
                               struct ox_error *err)
{
    for (size_t i = 0; i < scan->n_scans; i++) {
        struct ox_datum **slot = &scan->in[scan->n_states + i];
        struct ox_tensor *zeros;
        ox_datum_release(*slot);
        *slot = NULL;
        OX_TRY(ox_slice_zeros(r, scanned[i].tensor, scanned[i].axis, &zeros, err));
        enum ox_status status = ox_datum_of_tensor(slot, zeros, err);
        ox_tensor_release(zeros);
        OX_TRY(status);
    }
    if (r->subgraph(r, scan->body, scan->in, scan->n_states + scan->n_scans, scan->out, r->n_out,
                    NULL) != OX_OK)
        clear(scan->out, r->n_out);
    return OX_OK;
}

static const struct ox_tensor *sample_of(const struct scan *scan, size_t i)
{
    const struct ox_datum *sample = scan->out[scan->n_states + i];
    return sample ? sample->tensor : NULL;
}

/* ---- From opset 9 ------------------------------------------------------------------------------------------------- */

static enum ox_status put_stacked(struct ox_run *r, struct scan *scan, const int64_t *axes,
                                  const int64_t *directions, struct ox_error *err)
{
    for (size_t i = 0; i < scan->n_stacked; i++) {
        struct ox_stack *stack = &scan->stacked[i];
        const struct ox_value *value = scan->body->outputs[scan->n_states + i];
        int64_t axis = axes ? axes[i] : 0;
        bool reverse = false;
        OX_TRY(check_direction(r, directions ? directions[i] : 0, &reverse, err));
        struct ox_tensor *joined;
        if (stack->n)
            OX_TRY(
                ox_stack_join(r, stack, axis, reverse, 0, value ? value->name : "", &joined, err));
        else
            OX_TRY(ox_stack_empty(r, value, sample_of(scan, i), axis, 0, &joined, err));
        enum ox_status status = ox_run_out_tensor(r, scan->n_states + i, joined, err);
        ox_tensor_release(joined);
        OX_TRY(status);
    }
    return OX_OK;
}

static enum ox_status run_scan(struct ox_run *r, struct ox_error *err)
{
    struct scan scan = {0};
    const int64_t *in_axes, *in_directions, *out_axes, *out_directions;
    int64_t length = 0;
    enum ox_status status;
    OX_TRY_CLEANUP(begin(r, &scan, r->n_in, err));
    OX_TRY_CLEANUP(list_attr(r, "scan_input_axes", scan.n_scans, &in_axes, err));
    OX_TRY_CLEANUP(list_attr(r, "scan_input_directions", scan.n_scans, &in_directions, err));
    OX_TRY_CLEANUP(list_attr(r, "scan_output_axes", scan.n_stacked, &out_axes, err));
    OX_TRY_CLEANUP(list_attr(r, "scan_output_directions", scan.n_stacked, &out_directions, err));
    struct scanned *scanned = ox_run_scratch(r, scan.n_scans, sizeof *scanned, err);
    if (!scanned) {
        status = OX_NO_MEMORY;
        goto cleanup;
    }
    OX_TRY_CLEANUP(prepare(r, &scan, scan.n_states, in_axes, in_directions, scanned, &length, err));
    for (size_t i = 0; i < scan.n_states; i++)
        scan.in[i] = ox_datum_ref(r->in[i]);
    if (length)
        OX_TRY_CLEANUP(run_trips(r, &scan, scanned, length, err));
    else
        OX_TRY_CLEANUP(try_trip(r, &scan, scanned, err));
    for (size_t i = 0; i < scan.n_states; i++)
        OX_TRY_CLEANUP(ox_run_out_datum(r, i, scan.in[i], err));
    status = put_stacked(r, &scan, out_axes, out_directions, err);
cleanup:
    end(r, &scan);
    return status;
}

/* ---- Opset 8 ---------------------------------------------------------------------------------------------------- */

/* One batch of a tensor; -1: zeros in the place of one. */
static enum ox_status take_batch(struct ox_run *r, const struct ox_tensor *of, int64_t batch,
                                 struct ox_tensor **out, struct ox_error *err)
{
    return batch < 0 ? ox_slice_zeros(r, of, 0, out, err) : ox_slice_at(r, of, 0, batch, out, err);
}

/* Runs the sequence of one batch and puts its results on the stacks of batches. */
static enum ox_status run_batch(struct ox_run *r, struct scan *scan, const struct scanned *scanned,
                                int64_t batch, int64_t length, int64_t longest,
                                struct ox_stack *batches, struct ox_error *err)
{
    enum ox_status status = OX_OK;
    struct scanned *rows = calloc(scan->n_scans, sizeof *rows);
    struct ox_tensor **owned = calloc(scan->n_scans, sizeof(struct ox_tensor *));
    if (!rows || !owned) {
        status = ox_run_fail(r, err, OX_NO_MEMORY, "out of memory");
        goto cleanup;
    }
    for (size_t i = 0; i < scan->n_scans; i++) {
        struct ox_tensor *row;
        OX_TRY_CLEANUP(take_batch(r, scanned[i].tensor, batch, &row, err));
        rows[i] = (struct scanned){.tensor = row, .reverse = scanned[i].reverse};
        owned[i] = row;
    }
    for (size_t i = 0; i < scan->n_states; i++) {
        struct ox_tensor *state;
        ox_datum_release(scan->in[i]);
        scan->in[i] = NULL;
        OX_TRY_CLEANUP(take_batch(r, ox_run_in(r, 1 + i), batch, &state, err));
        status = ox_datum_of_tensor(&scan->in[i], state, err);
        ox_tensor_release(state);
        if (status != OX_OK)
            goto cleanup;
    }
    if (length)
        OX_TRY_CLEANUP(run_trips(r, scan, rows, length, err));
    else
        OX_TRY_CLEANUP(try_trip(r, scan, rows, err));
    for (size_t i = 0; i < scan->n_states; i++)
        OX_TRY_CLEANUP(ox_stack_push(r, &batches[i], scan->in[i], err));
    for (size_t i = 0; i < scan->n_stacked; i++) {
        struct ox_stack *stack = &scan->stacked[i];
        const struct ox_value *value = scan->body->outputs[scan->n_states + i];
        struct ox_tensor *joined;
        struct ox_datum *datum;
        OX_TRY_CLEANUP(stack->n ? ox_stack_join(r, stack, 0, false, (size_t)longest,
                                                value ? value->name : "", &joined, err)
                                : ox_stack_empty(r, value, sample_of(scan, i), 0, (size_t)longest,
                                                 &joined, err));
        status = ox_datum_of_tensor(&datum, joined, err);
        ox_tensor_release(joined);
        if (status != OX_OK)
            goto cleanup;
        status = ox_stack_push(r, &batches[scan->n_states + i], datum, err);
        ox_datum_release(datum);
        if (status != OX_OK)
            goto cleanup;
    }
    clear(scan->out, r->n_out);
cleanup:
    for (size_t i = 0; owned && i < scan->n_scans; i++)
        ox_tensor_release(owned[i]);
    free(owned);
    free(rows);
    return status;
}

/* Checks that all inputs have the batch axis, the scanned ones a sequence after it. */
static enum ox_status measure_batches(struct ox_run *r, const struct scan *scan,
                                      const int64_t *directions, struct scanned *scanned,
                                      int64_t *n_batches, int64_t *longest, struct ox_error *err)
{
    for (size_t i = 0; i < scan->n_states + scan->n_scans; i++) {
        const struct ox_tensor *tensor = ox_run_in(r, 1 + i);
        bool is_scanned = i >= scan->n_states;
        if (!tensor || tensor->rank < (is_scanned ? 2 : 1))
            return ox_run_fail(r, err, OX_INPUT, "input %zu has no %s axis", 1 + i,
                               is_scanned ? "sequence" : "batch");
        if (i > 0 && tensor->dims[0] != *n_batches)
            return ox_run_fail(r, err, OX_INPUT,
                               "input %zu has a batch of %lld, the first one of %lld", 1 + i,
                               (long long)tensor->dims[0], (long long)*n_batches);
        *n_batches = tensor->dims[0];
        if (!is_scanned)
            continue;
        size_t k = i - scan->n_states;
        if (k > 0 && tensor->dims[1] != *longest)
            return ox_run_fail(r, err, OX_INPUT,
                               "input %zu has a sequence of %lld, the first one of %lld", 1 + i,
                               (long long)tensor->dims[1], (long long)*longest);
        *longest = tensor->dims[1];
        scanned[k].tensor = tensor;
        OX_TRY(check_direction(r, directions ? directions[k] : 0, &scanned[k].reverse, err));
    }
    const struct ox_tensor *lengths = ox_run_in(r, 0);
    if (lengths && (lengths->dtype != OX_INT64 || lengths->n != (size_t)*n_batches))
        return ox_run_fail(r, err, OX_INPUT, "sequence_lens has %zu elements for a batch of %lld",
                           lengths->n, (long long)*n_batches);
    for (int64_t b = 0; lengths && b < *n_batches; b++) {
        int64_t length = ((const int64_t *)lengths->data)[b];
        if (length < 0 || length > *longest)
            return ox_run_fail(r, err, OX_INPUT, "sequence_lens[%lld] is %lld, outside [0, %lld]",
                               (long long)b, (long long)length, (long long)*longest);
    }
    return OX_OK;
}

static enum ox_status run_scan_batched(struct ox_run *r, struct ox_error *err)
{
    struct scan scan = {0};
    struct ox_stack *batches = NULL;
    const int64_t *directions;
    int64_t n_batches = 0, longest = 0;
    enum ox_status status;
    OX_TRY_CLEANUP(begin(r, &scan, r->n_in ? r->n_in - 1 : 0, err));
    OX_TRY_CLEANUP(list_attr(r, "directions", scan.n_scans, &directions, err));
    batches = ox_run_scratch(r, r->n_out + 1, sizeof *batches, err);
    struct scanned *scanned = ox_run_scratch(r, scan.n_scans, sizeof *scanned, err);
    if (!batches || !scanned) {
        status = OX_NO_MEMORY;
        goto cleanup;
    }
    OX_TRY_CLEANUP(measure_batches(r, &scan, directions, scanned, &n_batches, &longest, err));
    const struct ox_tensor *lengths = ox_run_in(r, 0);
    for (int64_t b = 0; b < n_batches; b++) {
        int64_t length = lengths ? ((const int64_t *)lengths->data)[b] : longest;
        OX_TRY_CLEANUP(run_batch(r, &scan, scanned, b, length, longest, batches, err));
    }
    if (!n_batches) /* tells the shapes */
        OX_TRY_CLEANUP(run_batch(r, &scan, scanned, -1, 0, longest, batches, err));
    for (size_t i = 0; i < r->n_out; i++) {
        const struct ox_value *value = scan.body->outputs[i];
        struct ox_tensor *joined;
        OX_TRY_CLEANUP(
            n_batches
                ? ox_stack_join(r, &batches[i], 0, false, 0, value ? value->name : "", &joined, err)
                : ox_stack_empty(r, value, batches[i].items[0]->tensor, 0, 0, &joined, err));
        status = ox_run_out_tensor(r, i, joined, err);
        ox_tensor_release(joined);
        if (status != OX_OK)
            goto cleanup;
    }
cleanup:
    for (size_t i = 0; batches && i < r->n_out; i++)
        ox_stack_release(&batches[i]);
    end(r, &scan);
    return status;
}

/* ---- Shapes ------------------------------------------------------------------------------------------------------- */

/* The type without one axis, whose length goes to *length. */
static const struct ox_type *drop_axis(struct ox_infer *c, const struct ox_type *type, int64_t axis,
                                       const struct ox_expr **length)
{
    unsigned at;
    if (!type || type->kind != OX_TYPE_TENSOR)
        return NULL;
    if (!type->has_rank)
        return ox_infer_make_tensor(c, type->elem, false, 0, NULL);
    if (!ox_infer_axis(c, axis, type->rank, &at))
        return NULL;
    const struct ox_expr **dims = ox_infer_dims(c, type->rank);
    if (!dims)
        return NULL;
    for (unsigned d = 0; d + 1 < type->rank; d++)
        dims[d] = type->dims[d < at ? d : d + 1];
    *length = *length ? ox_infer_equal(c, *length, type->dims[at], "the sequence") : type->dims[at];
    return ox_infer_make_tensor(c, type->elem, true, type->rank - 1, dims);
}

static const struct ox_type *add_axis(struct ox_infer *c, const struct ox_type *type,
                                      const struct ox_expr *length)
{
    if (!type || type->kind != OX_TYPE_TENSOR || !type->has_rank)
        return type;
    const struct ox_expr **dims = ox_infer_dims(c, type->rank + 1);
    if (!dims)
        return NULL;
    dims[0] = length;
    for (unsigned d = 0; d < type->rank; d++)
        dims[d + 1] = type->dims[d];
    return ox_infer_make_tensor(c, type->elem, true, type->rank + 1, dims);
}

static int64_t list_at(const int64_t *list, size_t n, size_t i)
{
    return list && i < n ? list[i] : 0;
}

static void infer_scan(struct ox_infer *c)
{
    bool batched = ox_infer_opset(c) < 9;
    size_t first = batched ? 1 : 0;
    size_t n_in = ox_infer_n_in(c) - (ox_infer_n_in(c) ? first : 0), n_out = ox_infer_n_out(c);
    int64_t n_scans = ox_infer_int_attr(c, "num_scan_inputs", 0);
    if (n_scans < 1 || (uint64_t)n_scans > n_in) {
        ox_infer_conflict(c, "num_scan_inputs is %lld; there are %zu inputs", (long long)n_scans,
                          n_in);
        return;
    }
    size_t n_states = n_in - (size_t)n_scans, n_in_axes, n_out_axes;
    const int64_t *in_axes = ox_infer_ints_attr(c, "scan_input_axes", &n_in_axes);
    const int64_t *out_axes = ox_infer_ints_attr(c, "scan_output_axes", &n_out_axes);
    const struct ox_type **in = calloc(n_in + n_out + 1, sizeof(const struct ox_type *));
    if (!in)
        return;
    const struct ox_type **out = in + n_in;
    const struct ox_expr *length = NULL, *batch = NULL;
    for (size_t i = 0; i < n_in; i++) {
        in[i] = ox_infer_type(c, first + i);
        if (batched)
            in[i] = drop_axis(c, in[i], 0, &batch);
        if (i >= n_states)
            in[i] = drop_axis(c, in[i], list_at(in_axes, n_in_axes, i - n_states), &length);
    }
    struct ox_control_states states = {.in = in,
                                       .n = n_states,
                                       .n_in = n_in,
                                       .out = out,
                                       .n_out = n_out,
                                       .fixed_shapes = true,
                                       .trips = length};
    if (ox_control_fixpoint(c, &states)) {
        for (size_t i = 0; i < n_out; i++) {
            if (batched) {
                const struct ox_type *type = i < n_states ? in[i] : add_axis(c, out[i], length);
                ox_control_set_stacked(c, i, type, batch, 0);
            } else if (i >= n_states) {
                int64_t axis = list_at(out_axes, n_out_axes, i - n_states);
                ox_control_set_stacked(c, i, out[i], length, axis);
            } else if (in[i]) {
                ox_infer_set_type(c, i, in[i]);
            }
        }
    }
    free(in);
}

const struct ox_op ox_ops_scan[] = {
    {"", "Scan", 8, OX_OP_HALF, .infer = infer_scan, .run = run_scan_batched},
    {"", "Scan", 9, OX_OP_HALF, .infer = infer_scan, .run = run_scan},
    {0}};
