/* The one place for compiler extensions outside kernels/<arch>/. */
#ifndef OX_COMMON_COMPILER_H
#define OX_COMMON_COMPILER_H

#ifdef __GNUC__
#define OX_UNUSED __attribute__((unused))
#define OX_NODISCARD __attribute__((warn_unused_result))
#define OX_LIKELY(x) __builtin_expect(!!(x), 1)
#define OX_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define OX_ADD_OVERFLOWS(a, b, out) __builtin_add_overflow((a), (b), (out))
#define OX_SUB_OVERFLOWS(a, b, out) __builtin_sub_overflow((a), (b), (out))
#define OX_MUL_OVERFLOWS(a, b, out) __builtin_mul_overflow((a), (b), (out))
#else
#error "onnxtool needs gcc or clang"
#endif

/* Between two looks at something another thread will change. */
#if defined(__x86_64__) || defined(__i386__)
#define OX_RELAX() __builtin_ia32_pause()
#elif defined(__aarch64__)
#define OX_RELAX() __asm__ volatile("yield")
#else
#define OX_RELAX() ((void)0)
#endif

/* Files are little-endian. */
#define OX_BIG_ENDIAN (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__)

#define OX_COUNT(array) (sizeof(array) / sizeof((array)[0]))

#endif
