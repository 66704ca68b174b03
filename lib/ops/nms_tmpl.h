/* Stamped by nms.c for float and double: whether two boxes overlap by more than the threshold, in the boxes' own arithmetic,
 * which decides the close calls. */

static void NAME(sides)(const REAL *box, bool centre, REAL side[4])
{
    if (centre) {
        side[0] = box[0] - box[2] / 2;
        side[1] = box[0] + box[2] / 2;
        side[2] = box[1] - box[3] / 2;
        side[3] = box[1] + box[3] / 2;
        return;
    }
    side[0] = box[1] < box[3] ? box[1] : box[3];
    side[1] = box[1] < box[3] ? box[3] : box[1];
    side[2] = box[0] < box[2] ? box[0] : box[2];
    side[3] = box[0] < box[2] ? box[2] : box[0];
}

static bool NAME(overlap)(const void *boxes, size_t one, size_t other, bool centre,
                          double threshold)
{
    REAL a[4], b[4];
    NAME(sides)((const REAL *)boxes + one * 4, centre, a);
    NAME(sides)((const REAL *)boxes + other * 4, centre, b);
    REAL width = (a[1] < b[1] ? a[1] : b[1]) - (a[0] > b[0] ? a[0] : b[0]);
    REAL height = (a[3] < b[3] ? a[3] : b[3]) - (a[2] > b[2] ? a[2] : b[2]);
    if (!(width > 0 && height > 0))
        return false;
    REAL common = width * height;
    REAL area_a = (a[1] - a[0]) * (a[3] - a[2]), area_b = (b[1] - b[0]) * (b[3] - b[2]);
    REAL all = area_a + area_b - common;
    if (!(common > 0 && area_a > 0 && area_b > 0 && all > 0))
        return false;
    return common / all > (REAL)threshold;
}
