#include <dlfcn.h>
#include <string.h>

#include "common/lazy.h"

bool ox_lazy_bind(const char *soname, const char *const *names, size_t n, void *calls)
{
    void *library = dlopen(soname, RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE);

    if (!library)
        return false;
    bool all = true;

    for (size_t i = 0; i < n && all; i++) {
        void *call = dlsym(library, names[i]);

        all = call != NULL;
        memcpy((char *)calls + i * sizeof call, &call, sizeof call);
    }
    dlclose(library);
    return all;
}
