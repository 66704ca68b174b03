/* affine(): loops without branches, so that compilers make vectors of them; stamped once an instruction set. */
#include "kernels/affine.h"

enum { CHUNK = 32, NARROW = 2 * CHUNK };

static void affine_row(const struct ox_affine *a, size_t from, size_t n, const float *restrict x,
                       float *restrict y)
{
    const float *restrict scale = a->scale + from, *restrict shift = a->shift + from;
    const float lo = a->lo, hi = a->hi;
    for (size_t i = 0; i < n; i++) {
        float v = x[i] * scale[i] + shift[i];
        v = v < lo ? lo : v;
        y[i] = v > hi ? hi : v;
    }
}

/* Of a few columns the factors stay in registers, and so do the limits, of which no y can be a part. */
static void affine(const struct ox_affine *given)
{
    const struct ox_affine a = *given;
    size_t c = 0;
    for (; a.n <= NARROW && c + CHUNK <= a.n; c += CHUNK)
        for (size_t r = 0; r < a.rows; r++)
            affine_row(&a, c, CHUNK, a.x + r * a.x_step + c, a.y + r * a.y_step + c);
    for (size_t r = 0; c < a.n && r < a.rows; r++)
        affine_row(&a, c, a.n - c, a.x + r * a.x_step + c, a.y + r * a.y_step + c);
}
