#!/usr/bin/env python3
"""Writes scripts/near.ld: the functions and tables that a small command touches, which the linker is to lay side by side.

    rm build/release/onnxtool && make all LDFLAGS=-Wl,-Map=build/release/onnxtool.map
    scripts/near_sections.py build/release/onnxtool build/release/onnxtool.map MODEL [MODEL...] > scripts/near.ld

The kernel maps 64 KB around each page that a program touches, and all of it counts as the program's memory; so 100 KB of code
strewn over 3 MB cost more than a megabyte. This runs `check` and `shape-infer` on MODEL under valgrind's lackey, which tells every
address that is read, written or executed, and looks up in the linker's map to which input section it belongs. What only the further
MODELs touch (a large exported one) lies behind, out of the way of the first.
"""
import bisect
import collections
import re
import subprocess
import sys

COMMANDS = (["check", "--full", "--stats"], ["shape-infer"], ["--version"])
FEW_BYTES = 1024
# The rest of a file's functions stands behind those that were touched where that part of them was: what the compiler makes of small ones differs with every change.
MOSTLY_NEAR = 0.2
# Each group begins a window of its own and ends where the kernel's mapping ends, so that no more than itself is mapped. With it go the
# sections that the dynamic linker touches for every program.
SCRIPT = """/* Made by scripts/near_sections.py, which says why: what a small `check` or `shape-infer` touches, side by side. A list of names and no more:
 * one that is gone or new costs a few pages of memory until this file is made again. */
SECTIONS
{
    .init : ALIGN(0x10000)
    {
        KEEP (*(SORT_NONE(.init)))
    }
    .fini :
    {
        KEEP (*(SORT_NONE(.fini)))
    }
    .plt :
    {
        *(.plt)
        *(.iplt)
    }
    .plt.got :
    {
        *(.plt.got)
    }
    .text.near :
    {
        *crt*.o(.text)
%s
    }
}
INSERT AFTER .text;
SECTIONS
{
    .rodata.near : ALIGN(0x10000)
    {
%s
    }
}
INSERT AFTER .eh_frame;
SECTIONS
{
    .init_array : ALIGN(0x10000)
    {
        KEEP (*(.init_array))
    }
    .fini_array :
    {
        KEEP (*(.fini_array))
    }
    .tdata :
    {
        *(.tdata .tdata.*)
    }
    .tbss :
    {
        *(.tbss .tbss.*)
    }
    .data.rel.ro.near :
    {
        *(.data.rel.ro.ox_ops_* .data.rel.ro.local.ox_ops_*)
        *(.data.rel.ro.command_* .data.rel.ro.local.command_*)
%s
    }
}
INSERT AFTER .data.rel.ro;"""


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
    shell = 'exec valgrind --tool=lackey --trace-mem=yes --log-fd=9 "$@" 9>&1 >/dev/null 2>&1'
    trace = subprocess.Popen(["sh", "-c", shell, "sh", *command], stdout=subprocess.PIPE)
    once = subprocess.run(["awk", '$2 ~ /^[0-9a-f]+,[0-9]+$/ && length($2) < 11 && !($2 in seen) {seen[$2]; print $2}'], stdin=trace.stdout, stdout=subprocess.PIPE, check=True, text=True)
    trace.stdout.close()
    if trace.wait():
        sys.exit(f"{' '.join(command)} failed")
    return {address for line in once.stdout.split() if (address := int(line.split(",")[0], 16)) < 0x4000000}


def literals_of(files, sizes):
    """The literals and constants of these files, long ones where they are few. A file has each literal once, with the first function that has it; of equal ones in several files the
    linker's map names one: so which of them a function reads is not to be known."""
    found = {f"{file}(.rodata.str1.1 .rodata.*.str1.1 .rodata.cst*)" for file in files}
    long = re.compile(r"(.*)\(\.rodata(\..+)?\.str1\.8\)")
    return found | {name for name, size in sizes.items() if size < FEW_BYTES and (of := long.fullmatch(name)) and of[1] in files}


def mostly_near_files(near, sections):
    """Patterns of the files whose functions are near for a good part."""
    sizes, near_sizes = collections.Counter(), collections.Counter()
    for _, size, name in sections:
        file, section = name[:-1].split("(")
        if section.startswith(".text"):
            sizes[file] += size
            near_sizes[file] += size * (name in near)
    return [f"{file}(.text .text.*)" for file in sorted(near_sizes) if near_sizes[file] >= MOSTLY_NEAR * sizes[file]]


def functions_of(near):
    """Patterns of the functions among the near sections, with the clones that the compiler makes of them."""
    return sorted({re.sub(r"\((\.text\.[^.)]+)(\.(?:isra|part|constprop)\S*)?\)$", r"(\1 \1.*)", name) for name in near if "(.text" in name})


def tables_of(near):
    """The tables among the near sections, but for those of operators and commands, of which all are near; whether one is called local depends on what it points to."""
    near = {name for name in near if not re.search(r"\.(ox_ops|command)_", name)}
    return sorted({re.sub(r"\(\.data\.rel\.ro(?:\.local)?\.(\S+)\)$", r"(.data.rel.ro.\1 .data.rel.ro.local.\1)", name) for name in near if "(.data.rel.ro" in name})


def sections_of(program, model, sections):
    """Names of the sections that the commands on the model touch."""
    starts, near = [address for address, _, _ in sections], set()
    for words in COMMANDS:
        operands = [] if words == ["--version"] else [model]
        for address in addresses([program, *words, *operands]):
            at = bisect.bisect_right(starts, address) - 1
            if at >= 0 and address < sections[at][0] + sections[at][1]:
                near.add(sections[at][2])
    return {name for name in near if not name.startswith("crt") and ".str1." not in name}


def lists_of(near, sections):
    """Patterns of functions, constants and tables."""
    constants = {name for name in near if "(.rodata" in name}
    literals = literals_of({name.split("(")[0] for name in near}, {name: size for _, size, name in sections})
    return functions_of(near), sorted(constants | literals), tables_of(near)


def main():
    program, map_file, *models = sys.argv[1:]
    sections = input_sections(map_file)
    near = [sections_of(program, model, sections) for model in models]
    lists = lists_of(near[0], sections)
    more = lists_of(set().union(*near), sections)
    lists = [first + [name for name in every if name not in first] for first, every in zip(lists, more)]
    lists[0] += mostly_near_files(near[0], sections)
    print(SCRIPT % tuple("\n".join(f"        *{name}" for name in names) for names in lists))


main()
