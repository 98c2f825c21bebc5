#!/usr/bin/env python3
"""make_long_vectors.py - writes tests/data/text/long_vectors.jsonl: long texts without breaks, by the reference tokenizer.

usage: make_long_vectors.py OUT.jsonl NAME=TOKENIZER.json ...

Needs the package `tokenizers`. A text is `unit` repeated `n_units` times; of its ids the line keeps how many there are and
their FNV-1a hash (each id as 4 bytes, little-endian), which is enough to tell whether all of them are right.
"""
import json
import sys

from tokenizers import Tokenizer

UNITS = ["a", " ", "今日は雨が降っているので", "ab ", "é", "\U0001B002", "x▁ ", "<|turn", "0", "\n", "\t\t\n"]


def fnv1a(ids):
    value = 0xCBF29CE484222325
    for byte in b"".join(i.to_bytes(4, "little") for i in ids):
        value = (value ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return "%016x" % value


def main():
    with open(sys.argv[1], "w", encoding="utf-8") as out:
        for argument in sys.argv[2:]:
            name, path = argument.split("=", 1)
            tokenizer = Tokenizer.from_file(path)
            tokenizer.encode_special_tokens = True
            for unit in UNITS:
                for n_bytes in (100_000, 1_000_000):
                    n_units = n_bytes // len(unit.encode())
                    ids = tokenizer.encode(unit * n_units, add_special_tokens=False).ids
                    line = {"tokenizer": name, "unit": unit, "n_units": n_units, "n_ids": len(ids), "fnv1a": fnv1a(ids)}
                    out.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    main()
