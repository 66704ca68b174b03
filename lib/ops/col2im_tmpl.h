/* Adds lines of blocks to lines of an image, stamped a type. */

/* n elements each, into places that lie `step` apart. */
static void N(col2im_lines)(size_t lines, size_t n, const void *from, size_t from_line, void *to,
                            size_t to_line, size_t step)
{
    for (size_t l = 0; l < lines; l++) {
        const T *restrict in = (const T *)from + l * from_line;
        T *restrict out = (T *)to + l * to_line;
        for (size_t i = 0; i < n; i++) {
            T *at = out + i * step;
#if defined(T_BOOL)
            *at |= in[i];
#elif defined(T_FLOAT)
            *at += in[i];
#else
            *at = (T)((W)*at + (W)in[i]);
#endif
        }
    }
}
