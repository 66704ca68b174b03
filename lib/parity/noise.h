/* Values a little beside themselves, which tell how much a node amplifies what is wrong with its inputs. */
#ifndef OX_PARITY_NOISE_H
#define OX_PARITY_NOISE_H

#include "model/model.h"

/* A share of a number that is a few units in the last place of the narrowest floats that either model declares. */
double ox_noise_share(const struct ox_model *a, const struct ox_model *b);
/* The unit roundoff of a type of floats; 0 of others. */
double ox_noise_roundoff(enum ox_dtype dtype);
/* The value with each element that share larger or smaller, as the seed and its place say; what is no tensor of floats is itself, one
 * reference more. */
enum ox_status ox_noise_add(struct ox_datum **out, struct ox_env *env, const struct ox_datum *value,
                            double share, uint64_t seed, struct ox_error *err);

#endif
