#include "ops/contrib/timestamps.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>

#include "ops/contrib/generate.h"

enum ox_status ox_timestamps_open(struct ox_run *r, size_t i, struct ox_timestamps *t,
                                  struct ox_error *err)
{
    int64_t processor;
    OX_TRY(ox_generation_int(r, i, "logits_processor", 0, 0, &processor, err));
    if (processor > 1)
        return ox_run_fail(r, err, OX_UNSUPPORTED,
                           "logits_processor %" PRId64 " is not served: 0 and 1 are", processor);
    *t = (struct ox_timestamps){.on = processor == 1,
                                .eos = ox_run_int(r, "eos_token_id", -1),
                                .first = ox_run_int(r, "beginning_timestamp_token_id", -1),
                                .no_times = ox_run_int(r, "no_timestamps_token_id", -1),
                                .start_of_lm = ox_run_int(r, "start_of_lm_token_id", -1),
                                .start = ox_run_int(r, "decoder_start_token_id", -1),
                                .translate = ox_run_int(r, "translate_token_id", -1),
                                .transcribe = ox_run_int(r, "transcribe_token_id", -1)};
    return OX_OK;
}

static void forbid(double *scores, int64_t from, int64_t to)
{
    for (int64_t i = from; i < to; i++)
        scores[i] = -(double)FLT_MAX;
}

static void forbid_token(double *scores, int64_t vocabulary, int64_t token)
{
    if (token >= 0 && token < vocabulary)
        forbid(scores, token, token + 1);
}

/* Is a time likelier than any one text? */
static bool prefers_time(const double *scores, int64_t first, int64_t vocabulary)
{
    double text = -INFINITY, most = -INFINITY, sum = 0;
    for (int64_t i = 0; i < first; i++)
        text = scores[i] > text ? scores[i] : text;
    for (int64_t i = first; i < vocabulary; i++)
        most = scores[i] > most ? scores[i] : most;
    for (int64_t i = first; i < vocabulary; i++)
        if (scores[i] > -(double)FLT_MAX)
            sum += exp(scores[i] - most);
    return sum > 0 && most + log(sum) > text;
}

enum ox_status ox_timestamps_process(struct ox_run *r, const struct ox_timestamps *t,
                                     const int32_t *ids, size_t n, double *scores,
                                     size_t vocabulary, struct ox_error *err)
{
    enum { MOST_AT_FIRST = 50 }; /* a second */
    const int64_t size = (int64_t)vocabulary;
    if (t->first <= 0 || t->first >= size)
        return ox_run_fail(r, err, OX_INPUT,
                           "beginning_timestamp_token_id is %" PRId64 " of %" PRId64 " tokens",
                           t->first, size);
    size_t begun = 0; /* tokens up to the first time */
    while (begun < n && ids[begun] < t->first)
        begun++;
    begun += begun < n;
    forbid_token(scores, size, t->no_times);
    forbid_token(scores, size, t->start_of_lm);
    if (n > begun) {
        forbid_token(scores, size, t->start);
        forbid_token(scores, size, t->translate);
        forbid_token(scores, size, t->transcribe);
    }
    const bool last = n > 0 && ids[n - 1] >= t->first;
    const bool paired = n <= begun || ids[n - 2] >= t->first;
    if (last && paired)
        forbid(scores, t->first, size);
    else if (last)
        forbid(scores, 0, t->eos < size ? t->eos : size);
    int64_t latest = -1;
    for (size_t i = 0; i < n; i++)
        latest = ids[i] >= t->first ? ids[i] : latest;
    if (latest >= 0) {
        const int64_t end = latest + !(last && !paired);
        forbid(scores, t->first, end < size ? end : size);
    }
    if (n == begun)
        forbid(scores, t->first + MOST_AT_FIRST + 1, size);
    if (prefers_time(scores, t->first, size))
        forbid(scores, 0, t->first);
    return OX_OK;
}
