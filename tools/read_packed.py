#!/usr/bin/env python3
"""read_packed.py - reads a packed file as docs/FORMAT.md describes it, with nothing of facet and nothing but Python.

    read_packed.py FILE                 what is in it
    read_packed.py FILE NAME            the matrix, table or vector NAME as numbers, a row a line
    read_packed.py FILE NAME ROW        one row of it
"""
import json
import struct
import sys

BITS = {"f32": 32, "q8": 8, "q4": 4, "q2": 2}
STRIP = 16


def code(scheme, data, at, index):
    """The weight code number `index` of those that one lane holds (4 inputs a 32-bit word), as the number it stands for."""
    bits = BITS[scheme]
    per_unit = 32 // bits  # inputs of a row in a unit of 64 bytes
    unit, i = divmod(index, per_unit)
    byte = data[at + 64 * unit + i % 4]
    if bits == 8:
        return byte - 256 if byte > 127 else byte
    return (byte >> bits * (i // 4) & (1 << bits) - 1) - (1 << bits - 1)


def matrix_row(data, scheme, group, columns, row):
    """Row `row` of a matrix: strips of 16 rows, docs/FORMAT.md section 4."""
    multiple = 1 if scheme == "f32" else 2 * group if group else 64
    padded = -(-columns // multiple) * multiple
    code_bytes = STRIP * BITS[scheme] // 8  # of one input of all 16 rows, on average
    tile = 64 + 2 * group * code_bytes
    strip_bytes = padded // multiple * tile if group else padded * code_bytes + (scheme != "f32") * 64
    strip, lane = row // STRIP * strip_bytes, row % STRIP
    if scheme == "f32":
        return [struct.unpack_from("<f", data, strip + 64 * j + 4 * lane)[0] for j in range(columns)]
    if not group:
        scale = struct.unpack_from("<f", data, strip + padded * code_bytes + 4 * lane)[0]
        return [code(scheme, data, strip + 4 * lane, j) * scale for j in range(columns)]
    numbers = []
    for j in range(columns):
        at = strip + j // (2 * group) * tile
        half, inside = divmod(j % (2 * group), group)
        scale = struct.unpack_from("<e", data, at + 32 * half + 2 * lane)[0]
        numbers.append(code(scheme, data, at + 64 + half * group * code_bytes + 4 * lane, inside) * scale)
    return numbers


def table_row(data, scheme, blocks, columns, row):
    """Row `row` of a table of rows that are looked up: its scales, then its codes, section 5."""
    bits = BITS[scheme]
    scales = 0 if scheme == "f32" else 4 * blocks
    at = row * (-(-(scales + -(-columns * bits // 8)) // 16) * 16)
    if scheme == "f32":
        return list(struct.unpack_from("<%df" % columns, data, at))
    scale = struct.unpack_from("<%df" % blocks, data, at)
    codes = data[at + scales:]
    if bits == 8:
        return [c * scale[j * blocks // columns] for j, c in enumerate(struct.unpack_from("<%db" % columns, codes))]
    per_byte, mask = 8 // bits, (1 << bits) - 1
    return [((codes[j // per_byte] >> bits * (j % per_byte) & mask) - (1 << bits - 1)) * scale[j * blocks // columns]
            for j in range(columns)]


class PackedFile:
    def __init__(self, path):
        self.file = open(path, "rb")
        header_bytes = struct.unpack("<Q", self.file.read(8))[0]
        self.tensors = json.loads(self.file.read(header_bytes))
        self.metadata = self.tensors.pop("__metadata__")
        if (self.metadata["format"], self.metadata["format_version"]) != ("facet", "1"):
            sys.exit(path + ": not a packed file of version 1")
        self.matrices, self.tables = json.loads(self.metadata["matrices"]), json.loads(self.metadata["tables"])
        self.data_start = 8 + header_bytes
        self.name = self.data = None

    def rows(self, name):
        return self.matrices.get(name, self.tables.get(name, {"rows": 1}))["rows"]

    def row(self, name, row):
        if name != self.name:
            begin, end = self.tensors[name]["data_offsets"]
            self.file.seek(self.data_start + begin)
            self.name, self.data = name, self.file.read(end - begin)
        if name in self.matrices:
            m = self.matrices[name]
            return matrix_row(self.data, m["scheme"], m["group"], m["columns"], row)
        if name in self.tables:
            t = self.tables[name]
            return table_row(self.data, t["scheme"], t["blocks"], t["columns"], row)
        return struct.unpack("<%df" % (len(self.data) // 4), self.data)


def main(path, name=None, row=None):
    file = PackedFile(path)
    if name is None:
        for key in sorted(file.metadata):
            print(key, "=", file.metadata[key][:100])
        for tensor in sorted(file.tensors, key=lambda t: file.tensors[t]["data_offsets"]):
            print(tensor, file.matrices.get(tensor) or file.tables.get(tensor) or file.tensors[tensor]["shape"])
        return
    for r in range(file.rows(name)) if row is None else [int(row)]:
        print(*("%.9g" % x for x in file.row(name, r)))


if __name__ == "__main__":
    if not 2 <= len(sys.argv) <= 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
