cat > faults.c <<'END'
#include "onnxtool_op.h"
#include <stdlib.h>
#include <unistd.h>
static int run(const struct onnxtool_host_v1 *host, struct onnxtool_call_v1 *call)
{
    struct onnxtool_tensor_v1 x;
    int64_t huge[2] = {INT64_MAX, INT64_MAX}, negative = -1;
    host->input(call, 0, &x);
    switch (host->attr_int(call, "fault", 0)) {
    case 0: *(volatile char *)0 = 1; break;
    case 1: abort();
    case 2: exit(7);
    case 3: return host->fail(call, "no luck \033[31m");
    case 4: return 42;
    case 5: return 0;
    case 6: return !host->output(call, 0, 99, x.rank, x.dims);
    case 7: return !host->output(call, 5, x.type, x.rank, x.dims);
    case 8: host->output(call, 0, x.type, x.rank, x.dims); return !host->output(call, 0, x.type, x.rank, x.dims);
    case 9: return !host->output(call, 0, x.type, 2, huge);
    case 10: return !host->output(call, 0, x.type, 1, &negative);
    case 11: return !host->output(call, 0, ONNXTOOL_DOUBLE, x.rank, x.dims);
    case 12: for (int i = 3; i < 64; i++) close(i); for (;;) pause();
    }
    return 1;
}
static const struct onnxtool_op_v1 ops[] = {{sizeof ops[0], "a", "Op", 1, run}};
#ifndef NO_ENTRY
const struct onnxtool_op_v1 *onnxtool_ops_v1(size_t *n) { *n = COUNT; return ops; }
#endif
END
# The sanitizers leave signals to the process.
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}handle_segv=0:handle_abort=0"
build() { ${CC:-cc} -shared -fPIC -w -I"$TESTDATA/../lib" "$@" faults.c || exit 99; }
build -DCOUNT=1 -o faults.so
build -DCOUNT=0 -o none.so
build -DNO_ENTRY -o entry.so
echo '<domain: "a"> Op <fault: int> (float[N] x) => (float[N] y)' > a.schema
for fault in 0 1 2 3 4 5 6 7 8 9 10 11 12; do
    cat > m.onnxtxt <<END
<ir_version: 8, opset_import: ["" : 17, "a" : 1]>
g (float[n] x) => (y) { y = a.Op <fault = $fault>(x) }
END
    onnxtool run m.onnxtxt --random 1 --op-library faults.so --schema a.schema
    echo "$fault: exit $?"
done
echo not a library > text.so
for library in none.so entry.so missing.so; do
    onnxtool run m.onnxtxt --random 1 --op-library $library
    echo "$library: exit $?"
done
onnxtool run m.onnxtxt --random 1 --op-library text.so 2> /dev/null
echo "text.so: exit $?"
