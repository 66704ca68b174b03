"""Kernel lists of onnxruntime-gpu's CUDA provider, on a machine without GPU and CUDA.

usage: target_cuda.py CACHE VERSION...      CACHE/gpu/VERSION is the unpacked wheel, 1.16 or newer

The provider registers its kernels when it is loaded and needs no device for that, only somebody who answers to the
names of CUDA's libraries. Stubs that return 0 do. Writes CACHE/probe/cuda-VERSION.json.
"""

import json
import os
import subprocess
import sys

from target_probe import environment

OURS = ("linux-vdso", "libc.", "libm.", "libdl.", "librt.", "libpthread.", "libstdc++", "libgcc_s", "ld-linux",
        "libonnxruntime", "libz.")  # fmt: skip
# TensorRT's provider asks the registry for its plugins: an object whose methods all return 0.
REGISTRY = """static long zero(void) { return 0; }
static void *methods[64] = {[0 ... 63] = (void *)zero};
static void *registry = methods;
void *getPluginRegistry(void) { return &registry; }
"""
ASK = r"""
import json, onnxruntime.capi.onnxruntime_pybind11_state as s
print(json.dumps([[k.provider, k.domain, k.op_name, list(k.version_range), k.type_constraints]
                  for k in s.get_all_opkernel_def()]))
"""


def output(*command):
    return subprocess.run(command, text=True, capture_output=True, check=True).stdout


def undefined_symbols(library):
    """{version: names} of what others than the system's libraries must define."""
    found = {}
    for line in output("nm", "-D", "--undefined-only", library).splitlines():
        kind, symbol = line.split()[-2:]
        name, _, version = symbol.partition("@")
        version = version.lstrip("@")
        if kind == "U" and not version.startswith(("GLIBC", "CXXABI", "GCC")) and name != "Provider_GetHost":
            found.setdefault(version, set()).add(name)
    return found


def make_stub(folder, library, names, versioned):
    with open(f"{folder}/stub.c", "w") as out:
        out.write(REGISTRY)
        out.write("".join(f"long {s}(void) {{ return 0; }}\n" for s in sorted(names - {"getPluginRegistry"})))
    command = ["gcc", "-w", "-shared", "-fPIC", f"-Wl,-soname,{library}", "-o", f"{folder}/{library}"]
    if versioned:
        with open(f"{folder}/stub.map", "w") as out:
            out.write(f"{library} {{ global: *; }};\n")
        command.append(f"-Wl,--version-script={folder}/stub.map")
    output(*command, f"{folder}/stub.c")


def make_stubs(providers, folder):
    """A library for each that is needed; NVIDIA's version their symbols by their own file name."""
    os.makedirs(folder, exist_ok=True)
    needed, symbols, driver = [], {}, set()
    for provider in providers:
        for line in output("readelf", "-d", provider).splitlines():
            if "NEEDED" in line and not line.split("[")[1].startswith(OURS):
                needed.append(line.split("[")[1].split("]")[0])
        for version, names in undefined_symbols(provider).items():
            symbols.setdefault(version, set()).update(names)
        # The driver's functions are looked up by name.
        strings = output("sh", "-c", f"strings -n 4 '{provider}' | grep -E '^cu[A-Z][A-Za-z0-9_]+$' || true")
        driver.update(strings.split())
    needed = list(dict.fromkeys(n for n in needed if n != "libcuda.so.1"))
    for library in needed:
        make_stub(folder, library, symbols.get(library, symbols.get("", set())), library in symbols)
    make_stub(folder, "libcuda.so.1", driver | symbols.get("", set()), False)


def main():
    cache = sys.argv[1]
    for version in sys.argv[2:]:
        capi = f"{cache}/gpu/{version}/onnxruntime/capi"
        stubs = f"{cache}/stubs/{version}"
        providers = [f"{capi}/libonnxruntime_providers_{p}.so" for p in ("cuda", "tensorrt")]
        make_stubs(providers, stubs)
        python, env = environment(cache, version, "gpu")
        env["LD_LIBRARY_PATH"] = stubs
        done = subprocess.run([python, "-c", ASK], env=env, text=True, capture_output=True)
        if not done.stdout:
            print(version, "failed:", done.returncode, done.stderr[-400:])
            continue
        kernels = [k for k in json.loads(done.stdout.splitlines()[-1]) if k[0] != "CPUExecutionProvider"]
        with open(f"{cache}/probe/cuda-{version}.json", "w") as out:
            json.dump(kernels, out)
        print(version, len(kernels), sorted({k[0] for k in kernels}), flush=True)


if __name__ == "__main__":
    main()
