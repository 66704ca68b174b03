/* Stamped by nms.c for float and double: which boxes overlap by more than the threshold, in the boxes' own arithmetic, which decides
 * the close calls. */

static void N(read)(const T *box, bool centre, T *side)
{
    if (centre) {
        side[OX_BOX_LEFT] = box[0] - box[2] / 2;
        side[OX_BOX_RIGHT] = box[0] + box[2] / 2;
        side[OX_BOX_TOP] = box[1] - box[3] / 2;
        side[OX_BOX_LOW] = box[1] + box[3] / 2;
    } else {
        side[OX_BOX_LEFT] = box[1] < box[3] ? box[1] : box[3];
        side[OX_BOX_RIGHT] = box[1] < box[3] ? box[3] : box[1];
        side[OX_BOX_TOP] = box[0] < box[2] ? box[0] : box[2];
        side[OX_BOX_LOW] = box[0] < box[2] ? box[2] : box[0];
    }
    side[OX_BOX_AREA] =
        (side[OX_BOX_RIGHT] - side[OX_BOX_LEFT]) * (side[OX_BOX_LOW] - side[OX_BOX_TOP]);
}

/* Whether box i overlaps none of those kept so far, which lie in blocks; keeps it then. */
static bool N(keep)(const void *boxes, size_t i, bool centre, void *blocks, size_t n_kept,
                    double threshold)
{
    const size_t n_blocks = (n_kept + OX_BOXES_ABREAST - 1) / OX_BOXES_ABREAST;
    T box[OX_BOX_SIDES];
    N(read)((const T *)boxes + i * 4, centre, box);
    if (ox_boxes(ox_cpu())->N(overlap)(n_blocks, blocks, box, (T)threshold))
        return false;
    T *block = (T *)blocks + n_kept / OX_BOXES_ABREAST * OX_BOX_SIDES * OX_BOXES_ABREAST;
    if (n_kept % OX_BOXES_ABREAST == 0)
        memset(block, 0, sizeof(T) * OX_BOX_SIDES * OX_BOXES_ABREAST);
    for (size_t s = 0; s < OX_BOX_SIDES; s++)
        block[s * OX_BOXES_ABREAST + n_kept % OX_BOXES_ABREAST] = box[s];
    return true;
}
