#!/usr/bin/env python3
"""Makes tests/data/gguf/gemma3-270m-f32.json of what llama_steps prints (docs/QUALITY.md has all commands).

usage: make_gemma3_270m_f32.py --ids REFERENCE.json > REFERENCE.txt      what llama_steps reads
       make_gemma3_270m_f32.py STEPS.txt > gemma3-270m-f32.json          its three best of each step
"""
import json
import sys


def print_ids(path):
    for entry in json.load(open(path))["entries"]:
        print(len(entry["prompt_ids"]), *entry["prompt_ids"], *entry["ids"])


def print_steps(path):
    entries = []
    for line in open(path):
        prompt, step, *best = line.split()
        if int(prompt) == len(entries):
            entries.append([])
        assert int(step) == len(entries[-1])
        entries[-1].append([[int(best[k]), float(best[k + 1])] for k in (0, 2, 4)])
    about = {"model": "gemma-3-270m Q4_K_M, as F32", "engine": "llama.cpp, CPU, GELU without its table of float16"}
    rows = ",\n".join("  [" + ",\n   ".join(json.dumps(step) for step in entry) + "]" for entry in entries)
    print('{"about": ' + json.dumps(about) + ',\n "entries": [\n' + rows + "\n]}")


if len(sys.argv) == 3 and sys.argv[1] == "--ids":
    print_ids(sys.argv[2])
elif len(sys.argv) == 2:
    print_steps(sys.argv[1])
else:
    sys.exit(__doc__)
