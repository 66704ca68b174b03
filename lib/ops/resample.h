/* Resampling an axis: which elements stand behind each place of the output, and with which weights. */
#ifndef OX_OPS_RESAMPLE_H
#define OX_OPS_RESAMPLE_H

#include "ops/move.h"

enum ox_resample_mode { OX_RESAMPLE_NEAREST, OX_RESAMPLE_LINEAR, OX_RESAMPLE_CUBIC };

/* From a place in the output to one in the input (Resize: coordinate_transformation_mode). */
enum ox_resample_coordinates {
    OX_COORD_HALF_PIXEL,
    OX_COORD_HALF_PIXEL_SYMMETRIC,
    OX_COORD_PYTORCH_HALF_PIXEL,
    OX_COORD_ALIGN_CORNERS,
    OX_COORD_ASYMMETRIC,
    OX_COORD_TF_HALF_PIXEL,
    OX_COORD_CROP
};

/* SIMPLE: down when enlarging, up when reducing (Resize 10). */
enum ox_resample_nearest {
    OX_NEAREST_ROUND_FLOOR,
    OX_NEAREST_ROUND_CEIL,
    OX_NEAREST_FLOOR,
    OX_NEAREST_CEIL,
    OX_NEAREST_SIMPLE
};

struct ox_resample {
    enum ox_resample_mode mode;
    enum ox_resample_coordinates coordinates;
    enum ox_resample_nearest nearest;
    bool antialias;
    bool exclude_outside;
    double cubic_a;
};

struct ox_resample_axis {
    int64_t in, out;
    double scale;      /* out / in as asked for: out may have been rounded */
    double start, end; /* the region of interest, 0 to 1; of OX_COORD_CROP */
};

/* Nothing changes along the axis. */
bool ox_resample_is_identity(const struct ox_resample *how, const struct ox_resample_axis *axis);
/* The element nearest to each place of the output, -1 where it lies outside of what OX_COORD_CROP takes from. */
void ox_resample_nearest_list(const struct ox_resample *how, const struct ox_resample_axis *axis,
                              int64_t *list);
/* Weights a place; 0: the kernel would be wider than memory allows. */
size_t ox_resample_taps(const struct ox_resample *how, const struct ox_resample_axis *axis);
/* taps indices (within the axis) and weights for each place of the output; index -1 first: extrapolated. */
void ox_resample_table(const struct ox_resample *how, const struct ox_resample_axis *axis,
                       size_t taps, int64_t *index, double *weight);
/* dst [outer, out, inner] from src [outer, in, inner]. */
void ox_resample_apply(struct ox_env *env, const struct ox_resample_axis *axis, size_t outer,
                       size_t inner, size_t taps, const int64_t *index, const double *weight,
                       double extrapolation, const double *src, double *dst);

/* Elements as doubles in scratch of their own; complex numbers are pairs of reals that lie together. NULL with *err set. */
double *ox_resample_load(struct ox_run *r, const struct ox_tensor *in, struct ox_error *err);
/* Such doubles as output 0: integers are cut and saturate. */
enum ox_status ox_resample_store(struct ox_run *r, enum ox_dtype dtype, unsigned rank,
                                 const int64_t *dims, double *values, struct ox_error *err);
/* Doubles that an element is loaded as. */
static inline size_t ox_resample_parts(enum ox_dtype dtype)
{
    return dtype == OX_COMPLEX64 || dtype == OX_COMPLEX128 ? 2 : 1;
}

#endif
