/* Forgets what a stamped type defined. */
#undef T
#undef W
#undef N
#undef M
#undef T_BITS
#undef T_SIGNED
#undef T_MIN
#undef T_MAX
#undef T_FLOAT
