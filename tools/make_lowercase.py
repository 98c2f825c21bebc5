#!/usr/bin/env python3
"""make_lowercase.py - write src/text/lowercase_table.h: the characters that Python's str.lower() changes into one other.

usage: make_lowercase.py > src/text/lowercase_table.h

Runs of characters with one distance (and a step of 1 or 2) are one line. U+0130, the only character whose lower case
is two, is left to the reader of the table.
"""
import sys
import unicodedata


def runs():
    pairs = [(c, ord(chr(c).lower()) - c) for c in range(0x80, 0x110000)
             if len(chr(c).lower()) == 1 and chr(c).lower() != chr(c)]
    out = []
    for c, distance in pairs:
        if out:
            first, last, step, same = out[-1]
            gap = c - last
            if distance == same and gap <= 2 and (step in (0, gap)):
                out[-1] = (first, c, gap, same)
                continue
        out.append((c, c, 0, distance))
    return out


def main():
    print("/* lowercase_table.h - characters beyond ASCII that have a lower case; made by\n"
          f" * tools/make_lowercase.py from Unicode {unicodedata.unidata_version}. */")
    print("/* first, last, step, what to add */")
    print("/* clang-format off */")
    for first, last, step, distance in runs():
        print(f"{{0x{first:04X}, 0x{last:04X}, {step or 1}, {distance}}},")


if __name__ == "__main__":
    sys.exit(main())
