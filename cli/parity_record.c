/* --layers where an engine computes: it is asked for every value, and these walk in step in place of ours. */
#include <stdlib.h>
#include <string.h>

#include "parity.h"

static int by_name(const void *x, const void *y)
{
    return strcmp(*(const char *const *)x, *(const char *const *)y);
}

static size_t place_of(const struct parity_side *side, const char *name)
{
    const char **at = side->n_asked
                          ? bsearch(&name, side->asked, side->n_asked, sizeof *side->asked, by_name)
                          : NULL;
    return at ? (size_t)(at - side->asked) : SIZE_MAX;
}

static enum ox_status list_names(struct parity *p, struct parity_side *side)
{
    const size_t i = (size_t)(side - p->sides), n = ox_parity_names(p->layers, i, NULL, 0);
    side->asked = calloc(n + 1, sizeof *side->asked);
    side->recorded = calloc(n + 1, sizeof *side->recorded);
    if (!side->asked || !side->recorded)
        return cli_fail(p->cli, OX_NO_MEMORY, "out of memory");
    side->n_asked = ox_parity_names(p->layers, i, side->asked, n);
    qsort(side->asked, n, sizeof *side->asked, by_name);
    return OX_OK;
}

/* All names are one argument, which systems limit: in as many runs as that takes. */
static enum ox_status record_side(struct parity *p, struct parity_side *side)
{
    enum { MOST_BYTES = 100000 };
    size_t begin = 0;
    enum ox_status status = side->asked ? OX_OK : list_names(p, side);
    run_release_data(side->recorded, side->n_asked);
    while (begin < side->n_asked && status == OX_OK) {
        size_t end = begin, bytes = 0;
        do
            bytes += strlen(side->asked[end++]) + 1;
        while (end < side->n_asked && bytes + strlen(side->asked[end]) < MOST_BYTES);
        status = parity_run_engine(p, side, side->model_path, NULL, side->asked + begin,
                                   end - begin, side->recorded + begin);
        begin = end;
    }
    return status;
}

enum ox_status parity_record(struct parity *p)
{
    enum ox_status status = OX_OK;
    for (size_t i = 0; i < p->n_sides && status == OX_OK; i++)
        if (p->sides[i].engine)
            status = record_side(p, &p->sides[i]);
    return status;
}

enum ox_status parity_recorded(void *arg, const char *name, struct ox_datum **out,
                               struct ox_error *err)
{
    const struct parity_side *side = arg;
    const size_t at = place_of(side, name);
    (void)err;
    *out = at != SIZE_MAX && side->recorded[at] ? ox_datum_ref(side->recorded[at]) : NULL;
    return OX_OK;
}

void parity_take_outputs(struct parity *p)
{
    for (size_t i = 0; i < p->n_sides; i++) {
        struct run *run = &p->sides[i].run;
        for (size_t k = 0; p->sides[i].asked && k < run->n_outputs; k++) {
            const size_t at = place_of(&p->sides[i], ox_session_output_name(run->session, k));
            if (at == SIZE_MAX || !p->sides[i].recorded[at])
                continue;
            ox_datum_release(run->outputs[k]);
            run->outputs[k] = ox_datum_ref(p->sides[i].recorded[at]);
        }
    }
}

void parity_release_record(struct parity_side *side)
{
    if (side->recorded)
        run_release_data(side->recorded, side->n_asked);
    free(side->recorded);
    free(side->asked);
}
