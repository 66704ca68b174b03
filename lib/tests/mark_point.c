/* Check writes the place of every assertion that holds to a file, to say after which of them a test died. In loops over tensors that was half of
 * what the tests took. Here a place is written when it is another than the last: test programs are linked with --wrap=_mark_point. */
#include <check.h>

void __real__mark_point(const char *file, int line);
void __wrap__mark_point(const char *file, int line);

void __wrap__mark_point(const char *file, int line)
{
    static _Thread_local const char *last_file;
    static _Thread_local int last_line;
    if (file == last_file && line == last_line)
        return;
    last_file = file;
    last_line = line;
    __real__mark_point(file, line);
}
