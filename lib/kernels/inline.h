/* INLINE: what is built into each of a template's forms (for so many rows, so many columns), whose numbers are constants there and
 * whose sums lie in registers. */
#ifndef OX_KERNELS_INLINE_H
#define OX_KERNELS_INLINE_H

#ifndef INLINE /* by who includes this */
#define INLINE static inline __attribute__((always_inline))
#endif

#endif
