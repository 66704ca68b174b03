/* Readings of inputs: what else an input may have been meant to be. */
#ifndef OX_PARITY_EXPECTED_INPUTS_H
#define OX_PARITY_EXPECTED_INPUTS_H

#include "parity/expected.h"

/* Where a picture has its channels: axis 1, or the last. */
enum { OX_CHANNEL_AXES = 2 };
/* Models of more inputs are given as they are. */
enum { OX_READ_INPUTS = 16 };

struct ox_axis {
    unsigned at;
    size_t inner; /* elements of a step along it */
};

/* One way to read an input; which of the members after `describe` mean something is for these two to know. */
struct ox_input_reading {
    const char *id;
    int weight;
    /* *out is NULL where it does not fit the tensor. */
    enum ox_status (*make)(struct ox_tensor **out, const struct ox_input_reading *r,
                           struct ox_env *env, const struct ox_tensor *t, struct ox_error *err);
    void (*describe)(const struct ox_input_reading *r, char *text, size_t size);
    unsigned from, to; /* conventions of values; axes */
    bool turned;
    unsigned axis; /* of OX_CHANNEL_AXES */
};

/* Of 1, 3 or 4 channels of a tensor of rank 3 to 5; NULL: it has none there. Of rank 3 axis 1 is the first. */
const struct ox_axis *ox_axis_of(const struct ox_tensor *t, unsigned which, struct ox_axis *axis);

/* The place of a channel once they are turned; the fourth is transparency, and stays. */
static inline size_t ox_turned_channel(size_t c)
{
    return c < 3 ? 2 - c : c;
}

/* What was given for an input, NULL: no tensor of numbers. */
const struct ox_tensor *ox_given_tensor(const struct ox_expecting *e, size_t i);

/* Tries it on all inputs that it fits at once, where these are several, and on each. */
enum ox_status ox_try_reading(struct ox_expecting *e, const struct ox_input_reading *r,
                              struct ox_error *err);
/* expected_pixels.c: all conventions of values. */
enum ox_status ox_try_pixels(struct ox_expecting *e, struct ox_error *err);

#endif
