/* What the machine and the container leave to this process. */
#ifndef OX_COMMON_MACHINE_H
#define OX_COMMON_MACHINE_H

#include <stdint.h>

/* Bytes of memory: the machine's, or the control group's limit when that is less; 0 when unknown. */
uint64_t ox_machine_memory(void);

/* Cores that this process may use (affinity and cgroup quota), at least 1. */
unsigned ox_cores(void);

/* Nanoseconds since some moment, never less than before. */
uint64_t ox_clock_ns(void);

#endif
