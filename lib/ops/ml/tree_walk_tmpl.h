/* Many walks side by side: node `at` leads to its true side where HOLDS(at, x, threshold). T the type, NODE the node's, N(name). */
static void N(walk)(const struct ox_forest *forest, const uint32_t *roots, size_t n_trees,
                    const struct ox_tree_rows *r, uint32_t *leaves)
{
    const struct NODE *nodes = forest->nodes;
    const T *rows = r->data;
    const size_t stride = r->stride, n = r->n, all = n_trees * n;
    size_t tree = 0, row = 0;
    for (size_t first = 0; first < all; first += LANES) {
        uint32_t at[LANES], moved;
        const T *x[LANES];
        if (n_trees == 1 && n >= LANES) {
            /* The last rows perhaps twice: a few walks alone take as long as many side by side. */
            first = first + LANES > n ? n - LANES : first;
            for (size_t k = 0; k < LANES; k++) {
                at[k] = roots[0];
                x[k] = rows + (first + k) * stride;
            }
        } else {
            for (size_t k = 0; k < LANES; k++) {
                at[k] = roots[tree];
                x[k] = rows + row * stride;
                if (first + k + 1 < all && ++row == n) {
                    row = 0;
                    tree++;
                }
            }
        }
        do {
            moved = 0;
            for (size_t k = 0; k < LANES; k++) {
                const struct NODE *node = nodes + at[k];
                uint32_t next = node->child[HOLDS(at[k], x[k][node->feature], node->threshold)];
                moved |= next ^ at[k];
                at[k] = next;
            }
        } while (moved);
        for (size_t k = 0; k < LANES && first + k < all; k++)
            leaves[first + k] = (uint32_t)nodes[at[k]].leaf;
    }
}

#undef HOLDS
#undef N
