/* Runs cases of the suite and compares as onnx's own runner does: same element type and shape, numbers within the case's tolerances,
 * NaN equal to NaN. */
#ifndef OX_TESTS_JUDGE_SUITE_H
#define OX_TESTS_JUDGE_SUITE_H

#include "onnxtool.h"
#include "tests/read_suite.h"

/* All packs beneath TESTDATA (testdata/). */
void suite_load(struct suite *suite);
/* The case's data sets through a session; what departs fails the test under that label. */
void suite_judge(const struct suite_case *c, struct ox_session *session, const char *label);

#endif
