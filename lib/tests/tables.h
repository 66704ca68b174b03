/* The kernel tables that tests go through: a level each, and the AVX-512 sources once more, emulated, where the processor has
 * AVX2 and the compiler can. */
#ifndef OX_TESTS_TABLES_H
#define OX_TESTS_TABLES_H

#include "kernels/integer.h"
#include "kernels/rows.h"

unsigned n_tables(void);
/* i < n_tables(); 0 is plain C. */
const struct ox_compute *table_at(unsigned i);
/* The same for 8-bit products, with AVX-512 and VNNI emulated, and plain C by strips as AMX does them. */
unsigned n_integer_tables(void);
const struct ox_integer *integer_table_at(unsigned i);
/* The same for rows, i < n_tables(). */
const struct ox_rows *rows_table_at(unsigned i);
const char *table_name(unsigned i);

#endif
