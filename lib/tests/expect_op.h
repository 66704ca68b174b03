/* What tests of operators say most often. */
#ifndef OX_TESTS_EXPECT_OP_H
#define OX_TESTS_EXPECT_OP_H

#include <check.h>
#include <string.h>

#include "tests/run_op.h"

#define RUN_OK(op, n_outputs)                                                                      \
    ck_assert_msg(one_op_run(op, n_outputs) == OX_OK, "%s", one_op_error(op))

/* The run fails with that status, and the message has `text` in it. */
#define RUN_FAILS_AS(op, n_outputs, status, text)                                                  \
    do {                                                                                           \
        struct one_op *bad_ = (op);                                                                \
        ck_assert_int_eq(one_op_run(bad_, n_outputs), status);                                     \
        ck_assert_msg(strstr(one_op_error(bad_), text), "'%s' has no '%s'", one_op_error(bad_),    \
                      text);                                                                       \
        one_op_free(bad_);                                                                         \
    } while (0)

/* The run fails on its input. */
#define RUN_FAILS(op, n_outputs, text) RUN_FAILS_AS(op, n_outputs, OX_INPUT, text)

#endif
