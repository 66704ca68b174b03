"""Reads scripts/target_published.txt: operators that providers are documented to take.

A line "= SYMBOL" starts a provider; the lines up to the next are operators, [DOMAIN:]NAME[@VERSIONS], parted by blanks. VERSIONS
is a list such as 7-12,13,14+ of kernels' versions; without it every version is meant.
"""

import re


class Provider:
    def __init__(self, symbol):
        self.symbol, self.rows = symbol, {}


def served(text, known):
    """The schema versions out of `known` that a list of kernels' versions serves; "14+" starts at 14 and serves that one."""
    if not text:
        return known
    out = set()
    for part in text.split(","):
        first, last = re.fullmatch(r"(\d+)(?:-(\d+)|\+)?", part).groups()
        out |= {s for s in known if s == int(first) or int(first) < s <= int(last or first)}
    return sorted(out)


def read(path, since_of):
    providers = []
    with open(path) as f:
        for line in f:
            if line.startswith("#"):
                continue
            if line.startswith("= "):
                providers.append(Provider(line[2:].strip()))
                continue
            for word in line.split():
                name, _, versions = word.partition("@")
                domain, _, name = name.rpartition(":")
                known = since_of.get((domain, name))
                if not known:
                    raise SystemExit(f"{path}: no operator is called {word}")
                for since in served(versions, known):
                    providers[-1].rows[(domain, name, since, "OX_VIA_KERNEL", ((),))] = 1
    return providers
