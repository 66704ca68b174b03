/* Stamped by nms.c for float and double: which boxes overlap by more than the threshold, in the boxes' own arithmetic, which decides
 * the close calls. */

struct NAME(box) {
    REAL left, right, top, low, area;
};

static struct NAME(box) NAME(read)(const void *boxes, size_t i, bool centre)
{
    const REAL *box = (const REAL *)boxes + i * 4;
    struct NAME(box) b;
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

/* Boxes from..., as read() makes them, into `out`. */
static void NAME(read_all)(const void *boxes, size_t from, size_t n, bool centre, void *out)
{
    struct NAME(box) *to = out;
    for (size_t i = 0; i < n; i++)
        to[i] = NAME(read)(boxes, from + i, centre);
}

static bool NAME(overlap)(const struct NAME(box) * a, const struct NAME(box) * b, REAL threshold)
{
    const REAL width =
        (a->right < b->right ? a->right : b->right) - (a->left > b->left ? a->left : b->left);
    const REAL height = (a->low < b->low ? a->low : b->low) - (a->top > b->top ? a->top : b->top);
    if (!(width > 0 && height > 0))
        return false;
    const REAL common = width * height, all = a->area + b->area - common;
    if (!(common > 0 && a->area > 0 && b->area > 0 && all > 0))
        return false;
    return common / all > threshold;
}

/* Whether a box overlaps any of those kept so far, which lie side by side; keeps it if not. */
static bool NAME(keep)(const void *all, size_t box, void *list, size_t n_kept, double threshold)
{
    const struct NAME(box) *boxes = all;
    struct NAME(box) *kept = list;
    for (size_t k = 0; k < n_kept; k++)
        if (NAME(overlap)(&boxes[box], &kept[k], (REAL)threshold))
            return false;
    kept[n_kept] = boxes[box];
    return true;
}
