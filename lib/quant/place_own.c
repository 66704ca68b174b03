#include "quant/place.h"

enum ox_status ox_place_own(struct ox_place *place, struct ox_error *err)
{
    return ox_place_like_ort(place, err);
}
