#!/usr/bin/env python3
"""cut_tokenizer.py - a tokenizer.json with fewer pieces, for a checkpoint with a smaller vocabulary.

usage: cut_tokenizer.py TOKENIZER_JSON N OUT_JSON

Keeps the first N pieces, and the merges and control tokens that they allow. llama.cpp's converter and LiteRT's export want
tokenizer files that fit; what the tokenizer says is of no matter, for the weights are random.
"""
import json
import pathlib
import sys


def cut(spec, n):
    model = spec["model"]
    vocab = model["vocab"] = {piece: i for piece, i in model["vocab"].items() if i < n}
    pairs = [merge.split(" ", 1) if isinstance(merge, str) else merge for merge in model["merges"]]
    model["merges"] = [[a, b] for a, b in pairs if a in vocab and b in vocab and a + b in vocab]
    spec["added_tokens"] = [token for token in spec["added_tokens"] if token["id"] < n]
    return spec


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    spec = json.loads(pathlib.Path(sys.argv[1]).read_text(encoding="utf-8"))
    text = json.dumps(cut(spec, int(sys.argv[2])), ensure_ascii=False)
    pathlib.Path(sys.argv[3]).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
