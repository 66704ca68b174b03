/* INLINE: what is built into each of a template's forms (for so many rows, so many columns), whose numbers are constants there and
 * whose sums lie in registers. With the sanitizers' checks that takes minutes to compile, and one form serves all. */
#ifndef OX_KERNELS_INLINE_H
#define OX_KERNELS_INLINE_H

#ifdef INLINE /* by who includes this */
#elif defined OX_SANITIZE
#define INLINE static __attribute__((noinline, unused))
#else
#define INLINE static inline __attribute__((always_inline))
#endif

#endif
