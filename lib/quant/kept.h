/* The samples that a calibration keeps, and running them. */
#ifndef OX_QUANT_KEPT_H
#define OX_QUANT_KEPT_H

#include "quant/calibrate.h"

/* The kept samples fall into two halves by their order, which is that of their hashes: those that models are judged by, and those
 * that repairs are made from. */
bool ox_kept_held_out(size_t i);
/* One kept sample through a session; outputs are the caller's. OX_UNSUPPORTED, OX_INPUT: it cannot be run. */
enum ox_status ox_kept_run(const struct ox_calibration *c, struct ox_session *session,
                           const struct ox_kept *kept, struct ox_datum **outputs,
                           struct ox_error *err);
/* Releases n data and sets them NULL. */
void ox_kept_drop(struct ox_datum **data, size_t n);

#endif
