#!/usr/bin/env python3
"""Runs llama.cpp on Gemma 3 270M in 24 ways that differ in how sums are ordered and what attention rounds, and writes
which ids it prefers at each step of gemma3-270m.json; the table of docs/QUALITY.md goes to stderr.

usage: make_gemma3_270m_ways.py LLAMA_STEPS MODEL.gguf REFERENCE.json REFERENCE.txt > gemma3-270m-ways.json
"""
import itertools
import json
import math
import subprocess
import sys


def measure(program, model, ids, way):
    """For each step the ids by how probable they are, with their log-probabilities."""
    steps = {}
    for line in subprocess.run([program, model, ids, *way], check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines():
        entry, step, *best = line.split()
        steps[int(entry), int(step)] = {int(best[k]): float(best[k + 1]) for k in range(0, len(best), 2)}
    return steps


def margin(top):
    return top[0]["logprob"] - top[1]["logprob"]


def report(way, steps, entries):
    """How often the best id is not the listed one, and how far the listed log-probabilities are."""
    n = different = 0
    widest, squares = 0, []
    for (e, i), found in steps.items():
        top = entries[e]["top3"][i]
        squares += [(found[t["id"]] - t["logprob"]) ** 2 for t in top if t["id"] in found]
        if margin(top) > 0.1:
            n += 1
            if next(iter(found)) != entries[e]["ids"][i]:
                different += 1
                widest = max(widest, margin(top))
    rms = math.sqrt(sum(squares) / len(squares))
    print(f"| {' '.join(way)} | {different} of {n} | {widest:.3f} | {rms:.4f} |", file=sys.stderr)


def main(program, model, reference, ids):
    entries = json.load(open(reference))["entries"]
    best = [[[] for _ in entry["ids"]] for entry in entries]
    print("| way | other id | widest margin | log-probabilities off |\n|---|---|---|---|", file=sys.stderr)
    for words in itertools.product(["half flash", "half", ""], ["", "plain"], ["four", "prompt", "single", ""]):
        way = " ".join(words).split()
        steps = measure(program, model, ids, way)
        report(way, steps, entries)
        for (e, i), found in steps.items():
            if next(iter(found)) not in best[e][i]:
                best[e][i].append(next(iter(found)))
    about = {"model": "gemma-3-270m Q4_K_M", "engine": "llama.cpp, CPU, in 24 ways: the ids that one of them finds best"}
    rows = ",\n".join("  " + json.dumps(entry) for entry in best)
    print('{"about": ' + json.dumps(about) + ',\n "entries": [\n' + rows + "\n]}")


if len(sys.argv) != 5:
    sys.exit(__doc__)
main(*sys.argv[1:])
