/* The kernel tables that tests go through: a level each, and the AVX-512 sources once more, emulated, where the processor has
 * AVX2 and the compiler can. */
#ifndef OX_TESTS_TABLES_H
#define OX_TESTS_TABLES_H

#include "kernels/compute.h"

unsigned n_tables(void);
/* i < n_tables(); 0 is plain C. */
const struct ox_compute *table_at(unsigned i);
const char *table_name(unsigned i);

#endif
