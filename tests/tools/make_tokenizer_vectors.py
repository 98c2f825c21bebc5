#!/usr/bin/env python3
"""make_tokenizer_vectors.py - writes tests/data/text/demo_vectors.jsonl and gemma3_vectors.jsonl with the reference tokenizer.

usage: make_tokenizer_vectors.py TOKENIZER.json OUT.jsonl

Needs the package `tokenizers` (0.23.3 made the files here). One line a text of tokenizer_texts.py, and a few more:
text, special (names of control tokens are recognised), ids, and decoded where decoding does not give the text back.
Lines with "detok": ids drawn from a fixed generator, many of them byte pieces, and their text; skip: without control tokens.
"""
import json
import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from tokenizer_texts import texts  # noqa: E402
from tokenizers import Tokenizer  # noqa: E402

MORE = ["x\n\n\ny", "\n" * 40, "a   b", "naïve café", "x<0x0A>y", "<0xF0><0x9F>", "a\0b", "\0", "\r\n\r\n", "\ufeffhi\r\n", "50000", "3.14159",
        "please print <turn|> now", "a" * 5000, " " * 3000, "\t" * 1000, "今日は雨が降っているので" * 300, "<table><td>1</td></table>",
        "x▁▁y", "▁▁▁", "<unused5><unused12>", "[multimodal]", "<h1>\n\n</h1>", "\t\t\t\n\n\n\t", "a  ▁▁  b", "<start_of_image>"]


def main():
    tokenizer = Tokenizer.from_file(sys.argv[1])
    added = tokenizer.get_added_tokens_decoder()
    control = [i for i, token in added.items() if token.special]
    size = tokenizer.get_vocab_size(with_added_tokens=True)
    byte = [tokenizer.token_to_id("<0x%02X>" % b) for b in range(256)]
    lines = []
    for text, special in texts() + [(t, s) for t in MORE for s in (False, True)]:
        # encode_special_tokens: their names are text like any other.
        tokenizer.encode_special_tokens = not special
        ids = tokenizer.encode(text, add_special_tokens=False).ids
        line = {"text": text, "special": special, "ids": ids}
        decoded = tokenizer.decode(ids, skip_special_tokens=False)
        if decoded != text:
            line["decoded"] = decoded
        lines.append(line)
    chance = random.Random(20310203)
    for n in range(150):
        ids = []
        while len(ids) < 12:
            kind = chance.randrange(6)
            if kind == 0:
                ids.append(chance.choice(control))
            elif kind == 1:
                ids.append(chance.randrange(size))
            elif kind == 2:
                ids.append(byte[chance.randrange(256)])
            else:
                whole = chance.choice("é€😀\U0001B002\u2581A\n").encode()
                ids += [byte[b] for b in whole[: len(whole) if kind < 5 else chance.randint(1, 4)]]
        skip = n % 3 == 0
        lines.append({"detok": True, "ids": ids, "skip": skip, "text": tokenizer.decode(ids, skip_special_tokens=skip)})
    with open(sys.argv[2], "w", encoding="utf-8") as out:
        for line in lines:
            out.write(json.dumps(line) + "\n")
    print(len(lines), "lines")


if __name__ == "__main__":
    main()
