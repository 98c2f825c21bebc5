#!/usr/bin/env python3
# measure_quality.py - the table of docs/QUALITY.md: what each scheme and rounding loses against float weights.
#
#   tools/measure_quality.py CHECKPOINT --text book.txt --calibration other.txt
#   tools/measure_quality.py tests/data/demo/checkpoint --conversations tests/data/text/demo_expected.json --chunk 128
#
# --conversations: the entries with even numbers are scored, those with odd ones calibrate.
import argparse
import json
import os
import subprocess
import tempfile

VARIANTS = [(weights, rounding) for weights in ("q8", "q4", "q4-g64", "q4-g128") for rounding in ("absmax", "search", "statistics")]
NAMES = {"absmax": "absmax", "search": "searched", "statistics": "calibrated"}


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("source")
    parser.add_argument("--text")
    parser.add_argument("--calibration")
    parser.add_argument("--conversations")
    parser.add_argument("--chunk", default="512")
    parser.add_argument("--activations", default="q8", help="those of the models that are compared with float")
    parser.add_argument("--facet", default="build/facet")
    return parser.parse_args()


def inputs(args, folder):
    """Options that name the text to score, and the one to calibrate with."""
    if args.text:
        return ["--text", args.text], ["--text", args.calibration or args.text]
    entries = json.load(open(args.conversations))["entries"]
    options = []
    for part in 0, 1:
        path = os.path.join(folder, f"ids{part}")
        with open(path, "w") as file:
            for entry in entries[part::2]:
                print(*entry["prompt_ids"], *entry["answer_ids"], file=file)
        options.append(["--ids", "@" + path])
    return options


def main():
    args = arguments()
    with tempfile.TemporaryDirectory() as folder:
        def facet(*words):
            return subprocess.run([args.facet, *words], check=True, stdout=subprocess.PIPE).stdout

        def convert(name, *options):
            path = os.path.join(folder, name)
            facet("convert", args.source, "-o", path, "--quiet", *options)
            return path

        text, calibration = inputs(args, folder)
        logits, statistics = os.path.join(folder, "logits"), os.path.join(folder, "statistics")
        model = convert("f32", "--weights", "f32")
        whole = json.loads(facet("score", "-m", model, *text, "--chunk", args.chunk, "--save", logits, "--json", "--quiet"))
        facet("calibrate", "-m", model, *calibration, "--chunk", args.chunk, "-o", statistics, "--quiet")
        print(f"{whole['positions']} predictions\n", flush=True)
        print("| weights | scales | perplexity | divergence | same best token |\n|---|---|---|---|---|")
        print(f"| f32 | | {whole['perplexity']:.3f} | | |", flush=True)
        os.remove(model)
        for weights, rounding in VARIANTS:
            how = ["--statistics", statistics] if rounding == "statistics" else ["--rounding", rounding]
            model = convert("model", "--weights", weights, *how)
            s = json.loads(facet("score", "-m", model, "--against", logits, "--activations", args.activations, "--json", "--quiet"))
            print(f"| {weights} | {NAMES[rounding]} | {s['perplexity']:.3f} | {s['divergence']:.5f} ± {s['divergence_error']:.5f} | "
                  f"{100 * s['agreement']:.1f} % ± {100 * s['agreement_error']:.1f} |", flush=True)


main()
