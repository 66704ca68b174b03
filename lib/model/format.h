/* The forms that a model comes in, and the door by which those that are not protobuf enter. */
#ifndef OX_MODEL_FORMAT_H
#define OX_MODEL_FORMAT_H

#include "model/model.h"

/* By the first bytes. */
enum ox_format ox_format_detect(const uint8_t *bytes, size_t n);

#endif
