/* Codes of 2 bits as codes of 4, for which there are kernels in integers and by panels: twice the bytes, made once where the weights are
 * constant. */
#include "ops/contrib/nbits.h"

/* Without zeros of their own columns have that of the middle, which is another one of 4 bits. */
enum { TO_MIDDLE = 8 - 2 };

struct doubled {
    uint8_t *codes, *zeros; /* zeros: NULL, as before */
};

/* Four codes a byte become two. */
static void double_codes(size_t n, const uint8_t *from, unsigned more, uint8_t *to)
{
    const unsigned both = more | more << 4;
    for (size_t i = 0; i < n; i++) {
        const unsigned four = from[i];
        to[2 * i] = (uint8_t)(((four & 3) | (four & 12) << 2) + both);
        to[2 * i + 1] = (uint8_t)(((four >> 4 & 3) | (four >> 2 & 48)) + both);
    }
}

static bool sizes(const struct ox_nbits *w, size_t *codes, size_t *zeros)
{
    return !OX_MUL_OVERFLOWS(w->n, 2 * w->blocks * w->code_bytes, codes) &&
           !OX_MUL_OVERFLOWS(w->n, w->zeros ? 2 * w->zero_bytes : 0, zeros);
}

static void fill(const struct ox_nbits *w, size_t codes, size_t zeros, const struct doubled *to)
{
    double_codes(codes / 2, w->codes, w->zeros || w->as_reals ? 0 : TO_MIDDLE, to->codes);
    if (to->zeros)
        double_codes(zeros / 2, w->zeros, 0, to->zeros);
}

enum ox_status ox_prepare_nbits(struct ox_run *r, struct ox_error *err)
{
    struct ox_nbits w;
    size_t codes, zeros;
    if (r->once || !r->fixed[1] || (r->n_in > 3 && r->in[3] && !r->fixed[3]) ||
        ox_run_int(r, "bits", 4) != 2 || ox_nbits_read(r, &w, err) != OX_OK ||
        !sizes(&w, &codes, &zeros) || codes > SIZE_MAX / 2 || zeros > SIZE_MAX / 2)
        return OX_OK; /* the run tells what is wrong */
    struct doubled *kept = ox_run_keep(r, sizeof *kept + codes + zeros, err);
    if (!kept)
        return err->status;
    kept->codes = (uint8_t *)(kept + 1);
    kept->zeros = zeros ? kept->codes + codes : NULL;
    fill(&w, codes, zeros, kept);
    return OX_OK;
}

enum ox_status ox_nbits_double(struct ox_run *r, struct ox_nbits *w, struct ox_error *err)
{
    const struct doubled *kept = ox_run_state(r);
    struct doubled made = {0};
    if (!kept) {
        size_t codes, zeros;
        if (!sizes(w, &codes, &zeros))
            return ox_run_fail(r, err, OX_LIMIT, "the weights are too many");
        made.codes = ox_run_work(r, codes, 1, err);
        made.zeros = made.codes && zeros ? ox_run_work(r, zeros, 1, err) : NULL;
        if (!made.codes || (zeros && !made.zeros))
            return err->status;
        fill(w, codes, zeros, &made);
        kept = &made;
    }
    w->codes = kept->codes;
    w->zeros = kept->zeros;
    w->bits *= 2;
    w->code_bytes *= 2;
    w->zero_bytes *= 2;
    return OX_OK;
}
