#!/usr/bin/env python3
"""count_instructions.py - instructions that a NEON kernel spends on 32 weights, counted in the loop of its code.

    tools/count_instructions.py build-pi5/CMakeFiles/facet.dir/src/kernels/neon_dotprod.c.o [FUNCTION...]

A function is a tile of neon_matmul.h, q4_32_pair (one token, two strips) if none is named. Of its loops the one with
most sdot is counted, without the loops inside it that are not unrolled; an sdot is 16 weights of one token.
"""
import collections
import re
import shutil
import subprocess
import sys

TOKENS = {"pair": 1, "1": 1, "2": 2, "3": 3, "4": 4}


def functions(path):
    """Name and instructions [(address, text)] of each function."""
    objdump = shutil.which("aarch64-linux-gnu-objdump") or "objdump"
    text = subprocess.run([objdump, "-d", "--no-show-raw-insn", path], capture_output=True, text=True, check=True).stdout
    for part in re.split(r"\n(?=[0-9a-f]{16} <)", text):
        name = re.match(r"[0-9a-f]{16} <(\S+)>:", part)
        if name:
            lines = re.findall(r"^\s*([0-9a-f]+):\s+(.*)$", part, re.MULTILINE)
            yield name.group(1), [(int(address, 16), line.strip()) for address, line in lines]


def longest_loop(instructions):
    """The loop (a branch backwards and what it jumps over) with most sdot."""
    best = []
    for address, line in instructions:
        branch = re.match(r"(?:b\.\w+|cbnz\s+\w+,|b)\s+([0-9a-f]+)\b", line)
        if branch and int(branch.group(1), 16) < address:
            loop = [text for at, text in instructions if int(branch.group(1), 16) <= at <= address]
            if sum(text.startswith("sdot") for text in loop) > sum(text.startswith("sdot") for text in best):
                best = loop
    return best


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    wanted = sys.argv[2:] or ["q4_32_pair"]
    code = dict(functions(sys.argv[1]))
    for name in wanted:
        loop = longest_loop(code[name])
        kinds = collections.Counter(line.split()[0] for line in loop)
        tokens = TOKENS[name.rsplit("_", 1)[1]]
        blocks = kinds["sdot"] / 2 / tokens
        print(f"{name}: {len(loop) / blocks:.2f} instructions for 32 weights of {tokens} tokens"
              f" ({len(loop)} for {int(32 * blocks)}: {', '.join(f'{n} {kind}' for kind, n in kinds.most_common())})")


if __name__ == "__main__":
    main()
