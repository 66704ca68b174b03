/* What is not zero, stamped a type. */
static void N(not_zero)(const void *data, size_t n, uint8_t *flags)
{
    const T *values = data;

    for (size_t i = 0; i < n; i++)
        flags[i] = values[i] != 0;
}
