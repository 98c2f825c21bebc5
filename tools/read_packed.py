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


def main(path, name=None, row=None):
    with open(path, "rb") as file:
        header_bytes = struct.unpack("<Q", file.read(8))[0]
        header = json.loads(file.read(header_bytes))
        metadata = header.pop("__metadata__")
        assert metadata["format"] == "facet" and metadata["format_version"] == "1", "not a packed file of version 1"
        matrices, tables = json.loads(metadata["matrices"]), json.loads(metadata["tables"])
        if name is None:
            for key in sorted(metadata):
                print(key, "=", metadata[key][:100])
            for tensor in sorted(header, key=lambda t: header[t]["data_offsets"]):
                print(tensor, matrices.get(tensor) or tables.get(tensor) or header[tensor]["dtype"], header[tensor]["shape"])
            return
        begin, end = header[name]["data_offsets"]
        file.seek(8 + header_bytes + begin)
        data = file.read(end - begin)
    if name in matrices:
        m = matrices[name]
        n_rows, read = m["rows"], lambda r: matrix_row(data, m["scheme"], m["group"], m["columns"], r)
    elif name in tables:
        t = tables[name]
        n_rows, read = t["rows"], lambda r: table_row(data, t["scheme"], t["blocks"], t["columns"], r)
    else:
        n_rows, read = 1, lambda r: struct.unpack("<%df" % (len(data) // 4), data)
    for r in range(n_rows) if row is None else [int(row)]:
        print(*("%.9g" % x for x in read(r)))


if __name__ == "__main__":
    if not 2 <= len(sys.argv) <= 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
