/* A tree whose inner nodes all compare by HOLDS(x, threshold): T the type, NODE the node's, N(name). */
static void N(walk)(const struct ox_forest *forest, uint32_t root, const T *rows, size_t stride,
                    size_t n, uint32_t *leaves)
{
    const struct NODE *nodes = forest->nodes;
    size_t row = 0;
    for (; row + LANES <= n; row += LANES) {
        uint32_t at[LANES], moved;
        const T *x = rows + row * stride;
        for (size_t k = 0; k < LANES; k++)
            at[k] = root;
        do {
            moved = 0;
            for (size_t k = 0; k < LANES; k++) {
                const struct NODE *node = nodes + at[k];
                uint32_t next = node->child[HOLDS(x[k * stride + node->feature], node->threshold)];
                moved |= next ^ at[k];
                at[k] = next;
            }
        } while (moved);
        for (size_t k = 0; k < LANES; k++)
            leaves[row + k] = (uint32_t)nodes[at[k]].leaf;
    }
    for (; row < n; row++) {
        const T *x = rows + row * stride;
        uint32_t at = root, next = root;
        do {
            at = next;
            next = nodes[at].child[HOLDS(x[nodes[at].feature], nodes[at].threshold)];
        } while (next != at);
        leaves[row] = (uint32_t)nodes[at].leaf;
    }
}

#undef HOLDS
#undef N
