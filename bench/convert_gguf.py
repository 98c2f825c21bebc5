#!/usr/bin/env python3
"""convert_gguf.py - llama.cpp's converter for a bfloat16 checkpoint of Gemma 4, with matrices copied instead of computed.

usage: convert_gguf.py LLAMA_CPP CHECKPOINT OUT.gguf

The converter takes every tensor through float32 and holds it whole, which needs 19 GB for the largest table of E2B. In a
bfloat16 GGUF file a matrix has the bytes of the checkpoint, so here matrices are written from the mapped file; everything
else (names, metadata, tokenizer, norms) stays the converter's.
"""
import json
import pathlib
import struct
import sys


def matrices(folder):
    """{name as the converter has it: (file, offset, shape)} of all bfloat16 matrices of a checkpoint."""
    found = {}
    for file in sorted(folder.glob("*.safetensors")):
        with open(file, "rb") as f:
            size = struct.unpack("<Q", f.read(8))[0]
            header = json.loads(f.read(size))
        for name, tensor in header.items():
            if name != "__metadata__" and tensor["dtype"] == "BF16" and len(tensor["shape"]) == 2:
                found[name.replace("language_model.", "")] = (file, 8 + size + tensor["data_offsets"][0], tensor["shape"])
    return found


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    llama, checkpoint, out = (pathlib.Path(argument) for argument in sys.argv[1:])
    sys.path[:0] = [str(llama), str(llama / "gguf-py")]
    import convert_hf_to_gguf as converter
    import gguf
    import numpy as np
    from conversion.gemma import Gemma4Model

    mapped, computed = matrices(checkpoint), Gemma4Model.modify_tensors

    def modify_tensors(model, data, name, bid):
        if name not in mapped:
            yield from computed(model, data, name, bid)
            return
        file, offset, (rows, columns) = mapped[name]
        model.gguf_writer.add_tensor(model.map_tensor_name(name),
                                     np.memmap(file, np.uint8, "r", offset, (rows, columns * 2)),
                                     raw_dtype=gguf.GGMLQuantizationType.BF16)

    Gemma4Model.modify_tensors = modify_tensors
    sys.argv = [sys.argv[0], str(checkpoint), "--outtype", "bf16", "--outfile", str(out)]
    converter.main()


if __name__ == "__main__":
    main()
