/* INLINE: what is built into each of a template's forms (for so many rows, so many columns), whose numbers are constants there and
 * whose sums lie in registers. RARELY_INLINE: the same but for the sanitizers, whose checks take minutes to compile: of what they run
 * little one form serves all there. */
#ifndef OX_KERNELS_INLINE_H
#define OX_KERNELS_INLINE_H

#ifndef INLINE /* by who includes this */
#define INLINE static inline __attribute__((always_inline))
#endif
#ifdef OX_SANITIZE
#define RARELY_INLINE static __attribute__((noinline, unused))
#else
#define RARELY_INLINE INLINE
#endif

#endif
