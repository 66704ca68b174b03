#include "parity/noise.h"

#include <math.h>

/* ---- How much ----------------------------------------------------------------------------------------------------- */

double ox_noise_roundoff(enum ox_dtype dtype)
{
    switch (dtype) {
    case OX_FLOAT64:
        return 0x1p-53;
    case OX_FLOAT32:
        return 0x1p-24;
    case OX_FLOAT16:
        return 0x1p-11;
    case OX_BFLOAT16:
        return 0x1p-8;
    default:
        return 0;
    }
}

static double widest_roundoff(const struct ox_model *model)
{
    double most = 0;
    for (size_t g = 0; g < model->n_graphs; g++) {
        const struct ox_graph *graph = model->graphs[g];
        for (size_t i = 0; i < graph->n_values; i++) {
            const struct ox_value *value = graph->values[i];
            if (value->init)
                most = fmax(most, ox_noise_roundoff(value->init->dtype));
            for (const struct ox_type *type = value->type; type; type = type->inner)
                most = fmax(most, ox_noise_roundoff(type->elem));
        }
    }
    return most;
}

double ox_noise_share(const struct ox_model *a, const struct ox_model *b)
{
    /* Of 16 bits less, for there it is a large share already. */
    static const double UNITS = 16, UNITS_OF_HALF = 4, HALF = 0x1p-11;
    double most = fmax(widest_roundoff(a), widest_roundoff(b));
    return most >= HALF ? most * UNITS_OF_HALF : fmax(most, 0x1p-24) * UNITS;
}

/* ---- Noise -------------------------------------------------------------------------------------------------------- */

/* A bit of SplitMix64 (Steele, Lea, Flood 2014). */
static bool is_up(uint64_t seed, uint64_t at)
{
    uint64_t z = seed + (at + 1) * 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return (z ^ z >> 31) & 1;
}

static void add_noise(const struct ox_tensor *from, struct ox_tensor *to, double share,
                      uint64_t seed)
{
    enum { BLOCK = 512 };
    const size_t size = ox_dtype_size(from->dtype);
    double v[BLOCK];
    for (size_t at = 0; at < from->n; at += BLOCK) {
        const size_t n = from->n - at < BLOCK ? from->n - at : BLOCK;
        ox_elements_convert(OX_FLOAT64, v, from->dtype, (const char *)from->data + at * size, n,
                            false);
        for (size_t i = 0; i < n; i++)
            v[i] *= is_up(seed, at + i) ? 1 + share : 1 - share;
        ox_elements_convert(to->dtype, (char *)to->data + at * size, OX_FLOAT64, v, n, false);
    }
}

enum ox_status ox_noise_add(struct ox_datum **out, struct ox_env *env, const struct ox_datum *value,
                            double share, uint64_t seed, struct ox_error *err)
{
    const struct ox_tensor *from = ox_datum_get_tensor(value);
    struct ox_tensor *to;
    if (!from || value->kind != OX_DATUM_TENSOR || ox_noise_roundoff(from->dtype) == 0) {
        *out = ox_datum_ref(value);
        return OX_OK;
    }
    OX_TRY(ox_tensor_new(&to, ox_env_budget(env), from->dtype, from->rank, from->dims, err));
    add_noise(from, to, share, seed);
    enum ox_status status = ox_datum_of_tensor(out, to, err);
    ox_tensor_release(to);
    return status;
}
