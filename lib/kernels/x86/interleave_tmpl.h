/* Four rows of bytes to columns of four: stamped for a vector width. The includer defines IL(op), the intrinsic of that name and
 * width, its vector ILV and mask ILM, and the function's name INTERLEAVE; all are undefined here.
 *
 * Bytes of rows[0] to rows[3] that the mask has, turned by flip, each four of one column adjacent: four vectors, `part` bytes
 * apart, of which vector k has columns 4k to 4k + 3 of each sixteen. */
static inline void INTERLEAVE(const uint8_t *const *rows, ILM mask, uint8_t flip, char *to,
                              size_t part)
{
    const ILV turn = IL(set1_epi8)((char)flip);
    const ILV a = IL(maskz_loadu_epi8)(mask, rows[0]) ^ turn;
    const ILV b = IL(maskz_loadu_epi8)(mask, rows[1]) ^ turn;
    const ILV c = IL(maskz_loadu_epi8)(mask, rows[2]) ^ turn;
    const ILV d = IL(maskz_loadu_epi8)(mask, rows[3]) ^ turn;
    const ILV ab = IL(unpacklo_epi8)(a, b), cd = IL(unpacklo_epi8)(c, d);
    const ILV ef = IL(unpackhi_epi8)(a, b), gh = IL(unpackhi_epi8)(c, d);
    const ILV all[4] = {IL(unpacklo_epi16)(ab, cd), IL(unpackhi_epi16)(ab, cd),
                        IL(unpacklo_epi16)(ef, gh), IL(unpackhi_epi16)(ef, gh)};
#pragma GCC unroll 4
    for (unsigned k = 0; k < 4; k++)
        memcpy(to + k * part, &all[k], sizeof all[k]);
}

#undef INTERLEAVE
#undef IL
#undef ILV
#undef ILM
