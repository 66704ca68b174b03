/* Stamped by nms.c for float and double: which boxes overlap by more than the threshold, in the boxes' own arithmetic, which decides
 * the close calls. */

struct N(box) {
    T left, right, top, low, area;
};

static struct N(box) N(read)(const void *boxes, size_t i, bool centre)
{
    const T *box = (const T *)boxes + i * 4;
    struct N(box) b;
    if (centre) {
        b.left = box[0] - box[2] / 2;
        b.right = box[0] + box[2] / 2;
        b.top = box[1] - box[3] / 2;
        b.low = box[1] + box[3] / 2;
    } else {
        b.left = box[1] < box[3] ? box[1] : box[3];
        b.right = box[1] < box[3] ? box[3] : box[1];
        b.top = box[0] < box[2] ? box[0] : box[2];
        b.low = box[0] < box[2] ? box[2] : box[0];
    }
    b.area = (b.right - b.left) * (b.low - b.top);
    return b;
}

static bool N(overlap)(const struct N(box) * a, const struct N(box) * b, T threshold)
{
    const T width =
        (a->right < b->right ? a->right : b->right) - (a->left > b->left ? a->left : b->left);
    const T height = (a->low < b->low ? a->low : b->low) - (a->top > b->top ? a->top : b->top);
    if (!(width > 0 && height > 0))
        return false;
    const T common = width * height, all = a->area + b->area - common;
    if (!(common > 0 && a->area > 0 && b->area > 0 && all > 0))
        return false;
    return common / all > threshold;
}

/* Whether box i overlaps none of those kept so far, which lie side by side; keeps it then. */
static bool N(keep)(const void *boxes, size_t i, bool centre, void *list, size_t n_kept,
                    double threshold)
{
    const struct N(box) box = N(read)(boxes, i, centre);
    struct N(box) *kept = list;
    for (size_t k = 0; k < n_kept; k++)
        if (N(overlap)(&box, &kept[k], (T)threshold))
            return false;
    kept[n_kept] = box;
    return true;
}
