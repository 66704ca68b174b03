/* Comparing values of a type that is being stamped: NaN is greater than all others and equal to itself. */
#ifdef T_FLOAT
#define SELECT_LESS(a, b) ((a) < (b) || ((b) != (b) && (a) == (a)))
#define SELECT_NAN(a) ((a) != (a))
#else
#define SELECT_LESS(a, b) ((a) < (b))
#define SELECT_NAN(a) false
#endif
