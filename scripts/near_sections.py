#!/usr/bin/env python3
"""Writes scripts/near.ld: the functions and tables that a small command touches, which the linker is to lay side by side.

    rm build/release/onnxtool && make all LDFLAGS=-Wl,-Map=build/release/onnxtool.map
    scripts/near_sections.py build/release/onnxtool build/release/onnxtool.map MODEL > scripts/near.ld

The kernel maps 64 KB around each page that a program touches, and all of it counts as the program's memory; so 100 KB of code
strewn over 3 MB cost more than a megabyte. This runs `check` and `shape-infer` on MODEL under valgrind's lackey, which tells every
address that is read, written or executed, and looks up in the linker's map to which input section it belongs.
"""
import bisect
import re
import subprocess
import sys
import tempfile

COMMANDS = (["check", "--full"], ["shape-infer"], ["--version"])
# Output section: the input sections it has, and on which side of it the near ones join others that every program touches.
OUTPUTS = {".text": (r"\.text(\..+)?", "BEFORE"), ".data.rel.ro": (r"\.data\.rel\.ro\..+", "AFTER"), ".rodata": (r"\.rodata\..+", "AFTER")}
FEW_BYTES = 1024
HEAD = """/* Made by scripts/near_sections.py, which says why: what a small `check` or `shape-infer` touches, side by side. A list of names and no more:
 * one that is gone or new costs a few pages of memory until this file is made again. */
"""


def input_sections(map_file):
    """Sorted [(address, size, "file:section")] of what went into the program."""
    text = open(map_file).read()
    text = text[text.index("Linker script and memory map"):]
    found = re.findall(r"^ (\.\S+)\s+0x([0-9a-f]+)\s+0x([0-9a-f]+) (\S+)$", text, re.MULTILINE)
    file_name = lambda path: re.search(r"([^/()]+)\)?$", path)[1]
    return sorted((int(address, 16), int(size, 16), f"{file_name(path)}({name})") for name, address, size, path in found
                  if int(address, 16) and int(size, 16))


def addresses(command):
    """Every address of the program's fixed image that the command touches."""
    with tempfile.NamedTemporaryFile("r") as trace:
        subprocess.run(["valgrind", "--tool=lackey", "--trace-mem=yes", f"--log-file={trace.name}", *command], stdout=subprocess.DEVNULL, check=True)
        found = set()
        for line in trace:
            if line[0] in "I " and "," in line:
                address = int(line[3:].split(",")[0], 16)
                if address < 0x4000000:
                    found.add(address)
    return found


def strings_of(near, sizes):
    """The literals of these functions and tables, long ones where they are few. The linker makes one of equal ones and names the first file that had it, so the map
    can't tell whose they were."""
    found = set()
    for name in near:
        file, section = name[:-1].split("(")
        if section.startswith(".text."):
            found.add(f"{file}(.rodata.{section.removeprefix('.text.').removeprefix('startup.')}.str1.1)")
        elif section.startswith(".data.rel.ro."):
            found.add(f"{file}(.rodata.str1.1)")
            if sizes.get(f"{file}(.rodata.str1.8)", FEW_BYTES) < FEW_BYTES:
                found.add(f"{file}(.rodata.str1.8)")
    return found


def whole(name):
    """A function with the clones that the compiler makes of it, which are others with every change."""
    return re.sub(r"\((\.text\.[^.)]+)(\.(?:isra|part|constprop)\S*)?\)$", r"(\1 \1.*)", name)


def main():
    program, map_file, model = sys.argv[1:]
    sections = input_sections(map_file)
    starts = [address for address, _, _ in sections]
    near = set()
    for words in COMMANDS:
        operands = [] if words == ["--version"] else [model]
        for address in addresses([program, *words, *operands]):
            at = bisect.bisect_right(starts, address) - 1
            if at >= 0 and address < sections[at][0] + sections[at][1]:
                near.add(sections[at][2])
    near = {name for name in near if not name.startswith("crt")}
    strings = {name for name in near if ".str1." in name}
    near -= strings
    files = {name.split("(")[0] for name in near}
    sizes = {name: size for _, size, name in sections}
    near |= strings_of(near, sizes) | {name for name in strings if ".str1.8" in name and name.split("(")[0] in files}
    print(HEAD, end="")
    for output, (pattern, where) in OUTPUTS.items():
        print(f"SECTIONS\n{{\n    {output}.near :\n    {{")
        for name in sorted({whole(name) for name in near if re.search(rf"\({pattern}\)$", name)}):
            print(f"        *{name}")
        if output == ".rodata":  # the others' literals too, or there would be two of what both have
            print("        *(.rodata.str1.1 .rodata.*.str1.1 .rodata.cst*)")
        print(f"    }}\n}}\nINSERT {where} {output};")


main()
