#!/usr/bin/env python3
"""make_gemma4_tokenizer.py - makes Gemma 4's tokenizer.json out of Gemma 3's.

usage: make_gemma4_tokenizer.py GEMMA3_TOKENIZER_JSON OUT.json

The project's own tool, written for its reference data; tools/fetch_test_tokenizer.sh calls it.

Both generations share one table of 262144 pieces and one list of 514906 merges; what differs
is the names of the control slots, the numbering of the unused slots around them, and the list
of added tokens (24 here, 6415 there). So the new file follows from the old one by rule, and
the result is checked against the published file's size and SHA-256.
"""
import hashlib
import json
import re
import sys
from pathlib import Path

VOCAB = 262144
MERGES = 514906
SIZE = 32169626
SHA256 = "cc8d3a0ce36466ccc1278bf987df5f71db1719b9ca6b4118264f45cb627bfe0f"

CONTROL = {
    0: "<pad>", 1: "<eos>", 2: "<bos>", 3: "<unk>", 4: "<mask>",
    46: "<|tool>", 47: "<tool|>",
    48: "<|tool_call>", 49: "<tool_call|>",
    50: "<|tool_response>", 51: "<tool_response|>",
    52: '<|"|>',
    98: "<|think|>", 100: "<|channel>", 101: "<channel|>",
    105: "<|turn>", 106: "<turn|>",
    255999: "<|image>", 256000: "<|audio>",
    258880: "<|image|>", 258881: "<|audio|>",
    258882: "<image|>", 258883: "<audio|>", 258884: "<|video|>",
}
UNUSED = re.compile(r"<unused\d+>")


def names_by_id(old):
    """Gemma 4's piece for every id, from Gemma 3's vocabulary (piece -> id)."""
    table = [None] * VOCAB
    for piece, index in old.items():
        if index < VOCAB:
            table[index] = piece
    if None in table:
        sys.exit("not Gemma 3's vocabulary: some ids have no piece")
    count = 0
    for index, piece in enumerate(table):
        if index in CONTROL:
            table[index] = CONTROL[index]
        elif UNUSED.fullmatch(piece):
            table[index] = "<unused%d>" % count
            count += 1
    if len(set(table)) != VOCAB:
        sys.exit("two ids got the same piece")
    return table


def build(gemma3):
    model = gemma3["model"]
    merges = [m.split(" ", 1) if isinstance(m, str) else list(m) for m in model["merges"]]
    if len(merges) != MERGES:
        sys.exit("expected %d merges, found %d" % (MERGES, len(merges)))
    table = names_by_id(model["vocab"])
    added = [
        {"id": i, "content": table[i], "single_word": False, "lstrip": False,
         "rstrip": False, "normalized": False, "special": True}
        for i in sorted(CONTROL)
    ]
    only_a = {"Sequence": {"id": "A", "type_id": 0}}
    then_b = {"Sequence": {"id": "B", "type_id": 1}}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": added,
        "normalizer": {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"},
        "pre_tokenizer": {"type": "Split", "pattern": {"String": " "},
                          "behavior": "MergedWithPrevious", "invert": False},
        "post_processor": {"type": "TemplateProcessing", "single": [only_a],
                           "pair": [only_a, then_b], "special_tokens": {}},
        "decoder": {"type": "Sequence", "decoders": [
            {"type": "Replace", "pattern": {"String": "\u2581"}, "content": " "},
            {"type": "ByteFallback"},
            {"type": "Fuse"},
        ]},
        "model": {
            "type": "BPE", "dropout": None, "unk_token": "<unk>",
            "continuing_subword_prefix": None, "end_of_word_suffix": None,
            "fuse_unk": True, "byte_fallback": True, "ignore_merges": False,
            "vocab": {piece: i for i, piece in enumerate(table)},
            "merges": merges,
        },
    }


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    gemma3 = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    blob = json.dumps(build(gemma3), indent=2, ensure_ascii=False).encode("utf-8")
    digest = hashlib.sha256(blob).hexdigest()
    if (len(blob), digest) != (SIZE, SHA256):
        sys.exit("%d bytes, SHA-256 %s: not the published tokenizer.json (%d bytes, %s)" % (len(blob), digest, SIZE, SHA256))
    Path(sys.argv[2]).write_bytes(blob)


if __name__ == "__main__":
    main()
