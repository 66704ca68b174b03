/* Stamped by boxes.c and its likes for float and double, as vectors by the compiler. */

#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))

static bool N(overlap)(size_t n_blocks, const T *blocks, const T *box, T threshold)
{
    enum { LANES = OX_BOXES_ABREAST };
    const T left = box[OX_BOX_LEFT], right = box[OX_BOX_RIGHT], top = box[OX_BOX_TOP],
            low = box[OX_BOX_LOW], area = box[OX_BOX_AREA];
    if (!(area > 0))
        return false;
    for (; n_blocks; n_blocks--, blocks += OX_BOX_SIDES * LANES) {
        T common[LANES];
        int some = 0, found = 0;
        for (int i = 0; i < LANES; i++) {
            const T *side = blocks + i;
            const T width =
                MIN(right, side[OX_BOX_RIGHT * LANES]) - MAX(left, side[OX_BOX_LEFT * LANES]);
            const T height =
                MIN(low, side[OX_BOX_LOW * LANES]) - MAX(top, side[OX_BOX_TOP * LANES]);
            common[i] = (width > 0) & (height > 0) ? width * height : 0;
            some |= common[i] > 0;
        }
        if (!some) /* as of most: nothing is divided */
            continue;
        for (int i = 0; i < LANES; i++) {
            const T other = blocks[OX_BOX_AREA * LANES + i], all = area + other - common[i];
            const T share = common[i] / all;
            found |= (common[i] > 0) & (other > 0) & (all > 0) & (share > threshold);
        }
        if (found)
            return true;
    }
    return false;
}

#undef MIN
#undef MAX
