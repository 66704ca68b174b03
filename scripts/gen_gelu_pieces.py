#!/usr/bin/env python3
"""Writes lib/kernels/x86/gelu_pieces.inc: what Gelu takes off below zero, as polynomials over equal pieces of |x|.

Gelu(x) = max(x, 0) - a q(a) with a = |x|, where q(a) = erfc(a / sqrt 2) / 2, or 1 / (1 + e^2u) with u = sqrt(2 / pi) (a + 0.044715 a^3) for the
form by tanh. Each polynomial meets q at the Chebyshev points of its piece; the last piece is zero. Usage: gen_gelu_pieces.py >FILE
"""

import math

PIECES, REACH, DEGREE = 32, 7.0, 4


def by_erf(a):
    return math.erfc(a / math.sqrt(2)) / 2


def by_tanh(a):
    return 1 / (1 + math.exp(2 * math.sqrt(2 / math.pi) * (a + 0.044715 * a**3)))


def polynomial(points, values):
    """Coefficients, lowest first, of the polynomial through the points: Newton's form, multiplied out."""
    divided = list(values)
    for order in range(1, len(points)):
        for i in reversed(range(order, len(points))):
            divided[i] = (divided[i] - divided[i - 1]) / (points[i] - points[i - order])
    result = [0.0] * len(points)
    for i in reversed(range(len(points))):
        result = [(result[k - 1] if k else 0.0) - points[i] * result[k] for k in range(len(points))]
        result[0] += divided[i]
    return result


def piece(q, index):
    width = REACH / PIECES
    nodes = [width / 2 * math.cos(math.pi * (2 * k + 1) / (2 * DEGREE + 2)) for k in range(DEGREE + 1)]
    if index == PIECES - 1:
        return [0.0] * (DEGREE + 1)
    return polynomial(nodes, [q(index * width + r) for r in nodes])


def c_float(value):
    text = f"{value:.9g}"
    return text + ("f" if "." in text or "e" in text else ".0f")


def main():
    print("/* Written by scripts/gen_gelu_pieces.py. Do not edit. */")
    print(f"enum {{ GELU_PIECES = {PIECES}, GELU_DEGREE = {DEGREE} }};")
    print(f"#define GELU_REACH {REACH}f")
    for name, q in (("erf", by_erf), ("tanh", by_tanh)):
        table = [piece(q, i) for i in range(PIECES)]
        print(f"static const float gelu_{name}[GELU_DEGREE + 1][GELU_PIECES] = {{")
        for power in range(DEGREE + 1):
            print("    {" + ", ".join(f"{c_float(row[power])}" if row[power] else "0" for row in table) + "},")
        print("};")


if __name__ == "__main__":
    main()
