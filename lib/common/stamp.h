/* Names of what the stamps (stamp_integers.h, stamp_floats.h) make. */
#ifndef OX_COMMON_STAMP_H
#define OX_COMMON_STAMP_H

#define OX_STAMP_JOINED(a, b) a##b
#define OX_STAMP(a, b) OX_STAMP_JOINED(a, b)

#endif
