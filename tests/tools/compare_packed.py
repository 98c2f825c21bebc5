#!/usr/bin/env python3
"""compare_packed.py - holds a packed file, read by tools/read_packed.py, against the checkpoint folder it was made from.

    compare_packed.py CHECKPOINT FILE

Every fourth row of each matrix, table and vector. What a scheme may lose is a bound on |difference| / |row|;
a code that is read from the wrong place, or with the wrong scale, loses 1 and more.
"""
import glob
import json
import math
import os
import struct
import subprocess
import sys

READER = os.path.join(os.path.dirname(__file__), "..", "..", "tools", "read_packed.py")
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(READER))
import read_packed  # noqa: E402

MAY_LOSE = {"f32": 0, "q8": 0.03, "q4": 0.3, "q2": 1.0}


class Checkpoint:
    def __init__(self, folder):
        self.tensors = {}
        for path in glob.glob(os.path.join(folder, "*.safetensors")):
            data = open(path, "rb").read()
            n = struct.unpack_from("<Q", data)[0]
            for name, tensor in json.loads(data[8:8 + n]).items():
                if name != "__metadata__":
                    begin, end = tensor["data_offsets"]
                    short = name.replace("model.language_model.", "").removeprefix("model.")
                    self.tensors[short] = (tensor["dtype"], tensor["shape"], data[8 + n + begin:8 + n + end])

    def row(self, name, row):
        if name == "lm_head.weight" and name not in self.tensors:
            name = "embed_tokens.weight"
        dtype, shape, data = self.tensors[name]
        columns = shape[-1] if shape else 1
        if dtype == "F32":
            return struct.unpack_from("<%df" % columns, data, 4 * columns * row)
        if dtype == "F16":
            return struct.unpack_from("<%de" % columns, data, 2 * columns * row)
        assert dtype == "BF16", dtype
        return [struct.unpack("<f", b"\0\0" + data[i:i + 2])[0] for i in range(2 * columns * row, 2 * columns * (row + 1), 2)]


def loss(row, expected):
    assert len(row) == len(expected)
    norm = math.fsum(x * x for x in expected)
    return math.sqrt(math.fsum((a - b) ** 2 for a, b in zip(row, expected)) / norm) if norm else 0


def main(folder, path):
    checkpoint = Checkpoint(folder)
    worst, n_rows = {}, 0
    file = read_packed.PackedFile(path)
    for name in file.tensors:
        if name == "tokenizer" or name.startswith("padding."):
            continue
        scheme = file.matrices.get(name, file.tables.get(name, {"scheme": "f32"}))["scheme"]
        for r in range(0, file.rows(name), 4):
            lost = loss(file.row(name, r), checkpoint.row(name, r))
            worst[scheme] = max(worst.get(scheme, 0), lost)
            n_rows += 1
            if lost > MAY_LOSE[scheme]:
                sys.exit("%s: row %d of %s (%s) lost %.3f" % (path, r, name, scheme, lost))
    print(path, n_rows, "rows, most lost:", {scheme: round(lost, 4) for scheme, lost in worst.items()})
    shown = subprocess.run([sys.executable, READER, path, "norm.weight"], capture_output=True, text=True, check=True).stdout
    assert [float(x) for x in shown.split()] == list(file.row("norm.weight", 0)), "what it prints is what it reads"


main(*sys.argv[1:])
