#!/usr/bin/env python3
"""compare.py - facet against llama.cpp and LiteRT-LM in one run: A/B/A/B, ratios inside a round.

usage: bench/compare.py [--quick] [--models short,full] [--rounds N] [--deepest N] [--only TEXT] [--threads 2] [--out FOLDER]

install_llama_cpp.sh, install_litert_lm.sh and make_models.sh have to run before; what they did not bring is left out and named.
Writes compare.md, compare.svg and compare.json (every number of every run) into FOLDER. Other load on the machine makes the
result unusable: if there was any, all three say that the run is not clean, and the exit code is 3.
"""
import argparse
import datetime
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

import machine
import plot
import report
from child import Failed, Run
from programs import SHORT_PROMPT, Facet, Kernels, LiteRtLm, LlamaCpp

HERE = pathlib.Path(__file__).resolve().parent

# (kind, size, rounds with --quick, rounds without). A peer reads 32768 tokens for a quarter of an hour, so once is enough.
TASKS = [("prefill", 128, 2, 8), ("prefill", 512, 2, 8), ("prefill", 2048, 0, 3),
         ("decode", 0, 2, 8), ("decode", 2048, 1, 3), ("decode", 8192, 0, 2), ("decode", 32768, 0, 1),
         ("first", SHORT_PROMPT, 3, 8), ("memory", 128, 1, 2)]
# What is measured of variants: other numbers of threads, other ways of waiting.
VARIED = [("prefill", 512), ("decode", 0)]


def models_of(args):
    """{model: [programs]}; the first is the one that the others are compared with."""
    files, llama, litert = args.home / "models", args.home / "llama.cpp", args.home / "litert"
    t = args.threads
    short = [Facet("facet q4", "short", t, files / "short-q4.facet", args.facet),
             Facet("facet q4-g128", "short", t, files / "short-q4-g128.facet", args.facet),
             LlamaCpp("llama.cpp Q4_0", "short", t, files / "short-q4_0.gguf", llama),
             LiteRtLm("LiteRT-LM int4", "short", t,
                      [(n, files / f"short-{n}.litertlm") for n in (512, 4096)], litert)]
    full = [Facet("facet q4", "full", t, files / "e2b-q4.facet", args.facet),
            LlamaCpp("llama.cpp Q4_0", "full", t, files / "e2b-q4_0.gguf", llama)]
    return {"full": full, "short": short}


def variants_of(programs, args):
    found = []
    for program in programs:
        if isinstance(program, Facet):
            found += [Facet(f"{program.name}, {n} thread{'s' * (n > 1)}", program.model, n, program.file, program.program)
                      for n in range(1, args.threads)]
        if isinstance(program, LlamaCpp):
            found += [LlamaCpp(f"{program.name}, {n} thread{'s' * (n > 1)}", program.model, n, program.file, program.folder)
                      for n in range(1, args.threads)]
            found.append(LlamaCpp(f"{program.name}, OMP_WAIT_POLICY=active", program.model, args.threads, program.file,
                                  program.folder, {"OMP_WAIT_POLICY": "active"}))
    return found


class Comparison:
    def __init__(self, args):
        self.args, self.rows, self.failed = args, [], {}

    def run(self, program, task, round_number):
        """One row of raw numbers; None if the program cannot do this, or failed before."""
        kind, size = task
        if not program.can(task) or (program.name, program.model, task) in self.failed:
            return
        watch = machine.Watch()
        try:
            result = program.measure(kind, size)
        except (Failed, OSError, ValueError, KeyError) as failure:
            self.failed[program.name, program.model, task] = str(failure)
            print(f"  {program.name}: {failure}", file=sys.stderr)
            return
        run = result.pop("run")
        self.rows.append({"model": program.model, "program": program.name, "kind": kind, "size": size, "round": round_number,
                          "command": run.command, "wall_seconds": run.seconds, "peak_bytes": run.peak_bytes, **result,
                          **watch.shares()})
        print(f"  {program.name:<45} {result['value']:.6g}", file=sys.stderr)

    def task(self, programs, variants, task, rounds):
        for round_number in range(rounds):
            print(f"{programs[0].model} {task[0]} {task[1]}: round {round_number + 1} of {rounds}", file=sys.stderr)
            with_variants = round_number == 0 or not self.args.quick
            for program in programs + (variants if with_variants else []):
                self.run(program, task, round_number)

    def model(self, programs):
        for program in programs:  # the files into the page cache, LiteRT's packed weights beside its file
            try:
                program.measure("first", SHORT_PROMPT)
            except (Failed, OSError, ValueError, KeyError):
                pass  # said when it is measured
        variants = variants_of(programs, self.args)
        for kind, size, quick, full in TASKS:
            if self.args.only and self.args.only not in f"{kind} {size}":
                continue
            if kind == "decode" and size > self.args.deepest:
                continue
            rounds = quick if self.args.quick else full
            if self.args.rounds is not None:
                rounds = min(rounds, self.args.rounds)
            self.task(programs, variants if (kind, size) in VARIED else [], (kind, size), rounds)


def kernel_curves(args, rows):
    """Medians over the rounds of time(M) / time(1), with the table that facet ran with; {} without check_kernels."""
    tables = {row["said"]["kernels"] for row in rows if "kernels" in row.get("said", {})}
    if not args.kernels.exists() or not tables or (args.only and args.only not in "kernels"):
        return {}
    kernels, found = Kernels(args.kernels, args.threads), {}
    for _ in range(1 if args.quick else 3):
        for scheme in ("q4-32", "q4-128"):
            for shape, curve in kernels.measure(sorted(tables)[0], scheme).items():
                for m, ratio in curve.items():
                    found.setdefault(f"{scheme} {shape}", {}).setdefault(m, []).append(ratio)
    return {name: {m: statistics.median(ratios) for m, ratios in curve.items()} for name, curve in found.items()}


def source_version():
    try:
        said = subprocess.run(["git", "-C", str(HERE), "describe", "--always", "--dirty"], capture_output=True, text=True, check=True)
        return said.stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="few rounds, nothing deep: some minutes; without it about an hour")
    parser.add_argument("--models", default="short,full", help="short, full, or both")
    parser.add_argument("--deepest", type=int, default=32768, help="no answers behind more tokens than these")
    parser.add_argument("--rounds", type=int, help="at most so many rounds of each measurement")
    parser.add_argument("--only", help="only measurements whose name holds this, as in \"decode 0\" or first")
    parser.add_argument("--threads", type=int, default=2)
    home = os.environ.get("FACET_BENCH_HOME") or pathlib.Path.home() / ".cache/facet-bench"
    parser.add_argument("--home", type=pathlib.Path, default=pathlib.Path(home), help="where peers and models are")
    parser.add_argument("--facet", type=pathlib.Path, default=HERE.parent / "build/facet")
    parser.add_argument("--kernels", type=pathlib.Path, default=HERE.parent / "build/tests/check_kernels")
    parser.add_argument("--out", type=pathlib.Path, help="default: results/DATE in the folder of the peers")
    args = parser.parse_args()
    unknown = set(args.models.split(",")) - {"short", "full"}
    if unknown:
        parser.error(f"there is no model {', '.join(sorted(unknown))}")
    if args.threads < 1 or (args.rounds is not None and args.rounds < 1):
        parser.error("threads and rounds are at least 1")
    if not args.facet.exists():
        parser.error(f"{args.facet} does not exist: build facet first")
    return args


def main():
    args = options()
    began = datetime.datetime.now().astimezone()
    out = args.out or args.home / "results" / began.strftime("%Y-%m-%d-%H%M%S")
    out.mkdir(parents=True, exist_ok=True)

    missing, chosen = [], {}
    for name, programs in models_of(args).items():
        if name in args.models.split(","):
            chosen[name] = [program for program in programs if program.there()]
            missing += [f"{program.name} ({name})" for program in programs if not program.there()]
    chosen = {name: programs for name, programs in chosen.items() if programs}
    if not chosen:
        sys.exit(f"compare.py: no model in {args.home / 'models'}: bench/make_models.sh makes them")

    before = machine.Watch()
    time.sleep(3)
    before, facts, whole = before.shares(), machine.facts(), machine.Watch()
    comparison, curves, interrupted = Comparison(args), {}, False
    try:
        for programs in chosen.values():
            comparison.model(programs)
        curves = kernel_curves(args, comparison.rows)
    except KeyboardInterrupt:
        interrupted = True
    except (Failed, OSError) as failure:
        comparison.failed["check_kernels", "", ("batch", 0)] = str(failure)
    whole = whole.shares()
    why = machine.verdict(before, whole, comparison.rows)
    if interrupted:
        why.append("it was interrupted")

    data = {
        "date": began.isoformat(timespec="seconds"), "command": sys.argv, "quick": args.quick, "threads": args.threads,
        "clean": not why, "not_clean_because": why, "machine": facts, "pages": machine.page_state(),
        "others_before": before, "others_during": whole, "missing": missing,
        "versions": {"facet": f"{Run([args.facet, '--version']).out.strip()} ({source_version()})",
                     **{program.name: program.version() for programs in chosen.values() for program in programs
                        if not isinstance(program, Facet)}},
        "programs": {name: [program.name for program in programs] for name, programs in chosen.items()},
        "file_bytes": {name: {program.name: program.file_bytes() for program in programs} for name, programs in chosen.items()},
        "failed": [{"program": program, "model": model, "task": list(task), "why": said}
                   for (program, model, task), said in comparison.failed.items()],
        "batch_curves": curves, "rows": comparison.rows,
    }
    (out / "compare.json").write_text(json.dumps(data, indent=1) + "\n")
    (out / "compare.md").write_text(report.markdown(data))
    (out / "compare.svg").write_text(plot.svg(data))
    print((out / "compare.md").read_text())
    print(f"written to {out}", file=sys.stderr)
    if interrupted:
        sys.exit(130)
    sys.exit(3 if why else 0)


if __name__ == "__main__":
    main()
