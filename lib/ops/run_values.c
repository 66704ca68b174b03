/* What a kernel takes, gives and works in. */
#include "ops/op.h"

#include <string.h>

const struct ox_tensor *ox_run_in(const struct ox_run *r, size_t i)
{
    return i < r->n_in && r->in[i] ? r->in[i]->tensor : NULL;
}

bool ox_run_has(const struct ox_run *r, size_t i)
{
    return i < r->n_in && r->in[i];
}

bool ox_run_wants(const struct ox_run *r, size_t i)
{
    return i < r->n_out && r->node->outputs[i];
}

/* Puts the tensor in place as output i and gives up the caller's reference, also on failure. */
static enum ox_status put_tensor(struct ox_run *r, size_t i, struct ox_tensor *tensor,
                                 struct ox_error *err)
{
    if (i >= r->n_out) {
        ox_tensor_release(tensor);
        return ox_run_fail(r, err, OX_INTERNAL, "output %zu is not one of its %zu", i, r->n_out);
    }
    struct ox_datum *datum;
    enum ox_status status = ox_datum_of_tensor(&datum, tensor, err);
    ox_tensor_release(tensor);
    if (status != OX_OK)
        return status;
    ox_datum_release(r->out[i]);
    r->out[i] = datum;
    return OX_OK;
}

enum ox_status ox_run_tensor(struct ox_run *r, enum ox_dtype dtype, unsigned rank,
                             const int64_t *dims, struct ox_tensor **out, struct ox_error *err)
{
    return r->alloc ? r->alloc(r, dtype, rank, dims, out, err)
                    : ox_tensor_new(out, ox_env_budget(r->env), dtype, rank, dims, err);
}

enum ox_dtype ox_run_dtype(const struct ox_run *r, enum ox_dtype dtype)
{
    return r->oracle && ox_dtype_is_real(dtype) ? OX_FLOAT64 : dtype;
}

enum ox_status ox_run_out(struct ox_run *r, size_t i, enum ox_dtype dtype, unsigned rank,
                          const int64_t *dims, struct ox_tensor **out, struct ox_error *err)
{
    bool keep = r->op && r->op->flags & OX_OP_KEEP_FLOAT;
    if (!keep)
        dtype = ox_run_dtype(r, dtype);
    struct ox_tensor *tensor;
    enum ox_status status = ox_run_tensor(r, dtype, rank, dims, &tensor, err);
    if (status != OX_OK && ox_run_wants(r, i)) {
        const char *name = r->node->outputs[i]->name;
        char shown[OX_SHOWN_BYTES];
        return ox_fail_context(err, status, "output '%s'", ox_shown(shown, name, strlen(name)));
    }
    if (status == OX_OK)
        status = put_tensor(r, i, tensor, err);
    if (status == OX_OK)
        *out = tensor;
    return status;
}

enum ox_status ox_run_out_view(struct ox_run *r, size_t i, const struct ox_tensor *of,
                               unsigned rank, const int64_t *dims, struct ox_error *err)
{
    struct ox_tensor *view;
    OX_TRY(ox_tensor_view(&view, of, rank, dims, err));
    return put_tensor(r, i, view, err);
}

enum ox_status ox_run_out_reuse(struct ox_run *r, size_t i, size_t k, enum ox_dtype dtype,
                                unsigned rank, const int64_t *dims, struct ox_tensor **out,
                                struct ox_error *err)
{
    const struct ox_tensor *in = ox_run_in(r, k);
    size_t n;
    if (!in || in->dtype != dtype || r->oracle || !ox_dims_count(rank, dims, &n) || n != in->n ||
        !r->is_last_use || !r->is_last_use(r, k))
        return ox_run_out(r, i, dtype, rank, dims, out, err);
    struct ox_tensor *view;
    OX_TRY(ox_tensor_view(&view, in, rank, dims, err));
    OX_TRY(put_tensor(r, i, view, err));
    *out = view;
    return OX_OK;
}

enum ox_status ox_run_out_tensor(struct ox_run *r, size_t i, const struct ox_tensor *tensor,
                                 struct ox_error *err)
{
    return put_tensor(r, i, ox_tensor_ref(tensor), err);
}

enum ox_status ox_run_out_datum(struct ox_run *r, size_t i, const struct ox_datum *datum,
                                struct ox_error *err)
{
    if (i >= r->n_out)
        return ox_run_fail(r, err, OX_INTERNAL, "output %zu is not one of its %zu", i, r->n_out);
    ox_datum_release(r->out[i]);
    r->out[i] = ox_datum_ref(datum);
    return OX_OK;
}

struct ox_run_lent {
    struct ox_run_lent *next;
    struct ox_tensor *memory;
};

/* A large piece, of the executor's memory: the system would give it page by page each time. */
static void *borrow(struct ox_run *r, size_t bytes, struct ox_error *err)
{
    struct ox_run_lent *lent = ox_arena_array(r->scratch, 1, sizeof *lent);
    const int64_t dim = (int64_t)bytes;
    if (!lent || ox_run_tensor(r, OX_UINT8, 1, &dim, &lent->memory, err) != OX_OK)
        return NULL;
    lent->next = r->lent;
    r->lent = lent;
    return memset(lent->memory->data, 0, bytes);
}

void *ox_run_scratch(struct ox_run *r, size_t count, size_t size, struct ox_error *err)
{
    enum { LARGE = 1 << 16 };
    size_t bytes;
    const bool fits = !OX_MUL_OVERFLOWS(count, size, &bytes) && bytes <= INT64_MAX / 2;
    void *memory = !fits                        ? NULL
                   : r->alloc && bytes >= LARGE ? borrow(r, bytes, err)
                                                : ox_arena_alloc(r->scratch, bytes);
    if (!memory)
        ox_run_fail(r, err, OX_NO_MEMORY, "out of memory (%zu x %zu bytes of scratch)", count,
                    size);
    return memory;
}

void *ox_run_work(struct ox_run *r, size_t count, size_t size, struct ox_error *err)
{
    size_t bytes, i = 0;
    while (i < OX_COUNT(r->work) && r->work[i])
        i++;
    bool fits = !OX_MUL_OVERFLOWS(count, size, &bytes) && bytes <= INT64_MAX / 2;
    if (!fits || i == OX_COUNT(r->work)) {
        ox_run_fail(r, err, fits ? OX_INTERNAL : OX_LIMIT, "%zu x %zu bytes of work", count, size);
        return NULL;
    }
    int64_t dim = (int64_t)bytes + !bytes;
    return ox_run_tensor(r, OX_UINT8, 1, &dim, &r->work[i], err) == OX_OK ? r->work[i]->data : NULL;
}

void ox_run_release_work(struct ox_run *r)
{
    for (size_t i = 0; i < OX_COUNT(r->work); i++) {
        ox_tensor_release(r->work[i]);
        r->work[i] = NULL;
    }
    for (; r->lent; r->lent = r->lent->next)
        ox_tensor_release(r->lent->memory);
}
