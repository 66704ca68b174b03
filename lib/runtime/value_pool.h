/* Memory for the values between nodes, used again from run to run. */
#ifndef OX_RUNTIME_VALUE_POOL_H
#define OX_RUNTIME_VALUE_POOL_H

#include "tensor/tensor.h"

/* One range of addresses, reserved when first needed and touched only as far as it is used. Blocks are cut by best fit and
 * merged again when given back, so that a run whose sizes recur touches no new memory and asks the system for none. Small
 * tensors come from malloc. The pool lives until it was released and all of its tensors too; tensors may be released by
 * another thread. */
struct ox_pool;

/* How much may lie in pages beside what is used: nothing; less than half a huge page, which then is none; or a huge page, as the system
 * gives them soonest. */
enum ox_pool_pages { OX_POOL_EXACT, OX_POOL_CLOSE, OX_POOL_SOON };

enum ox_status ox_pool_new(struct ox_pool **out, struct ox_budget *budget, enum ox_pool_pages pages,
                           struct ox_error *err);
/* The same pool once more, to be released once more. */
struct ox_pool *ox_pool_ref(struct ox_pool *pool);
/* The last release gives memory that no tensor holds back to the system at once. */
void ox_pool_release(struct ox_pool *pool);
/* Gives memory that no tensor holds back to the system; the pool can be used on. */
void ox_pool_trim(struct ox_pool *pool);

/* As ox_tensor_new(). */
enum ox_status ox_pool_tensor(struct ox_pool *pool, enum ox_dtype dtype, unsigned rank,
                              const int64_t *dims, struct ox_tensor **out, struct ox_error *err);
/* Most bytes in use at a time so far, what lies idle between blocks in use included. */
size_t ox_pool_peak(struct ox_pool *pool);

#endif
