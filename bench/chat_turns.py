#!/usr/bin/env python3
"""chat_turns.py - what each turn of a long conversation costs: twenty turns through `facet chat`, and the last one cold.

    bench/chat_turns.py -m /models/gemma-4-E2B-it.facet > turns.md

A turn should cost its own tokens: its question, its answer, and no more than what the chat line says was read again.
The last row takes the same conversation up in a new session that reads all of it. Answers are sampled with one seed, so
that a model of random weights writes words too; what it writes seldom gives the same ids when it is read as text, and
then counts as read with the next question. Times are a person's: from the end
of the question to the first byte of the answer, and to its end. Run it on a machine that does nothing else.
"""
import argparse
import datetime
import json
import os
import pathlib
import re
import selectors
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import machine

TOPICS = "rivers mountains bread clocks bridges ships glass paper salt bees".split()
REPORT = re.compile(r"(\d+) tok(?: · [\d.]+ tok/s)? · (\d+) reused · context (\d+)/(\d+)")


class Chat:
    """facet chat at the other end of three pipes."""

    def __init__(self, command, patience):
        self.child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.patience = patience
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.child.stdout, selectors.EVENT_READ, "out")
        self.selector.register(self.child.stderr, selectors.EVENT_READ, "err")
        self.err = ""

    def say(self, line):
        self.child.stdin.write(line.encode() + b"\n")
        self.child.stdin.flush()

    def turn(self, line):
        """Asks; returns the seconds to the first byte and to the report behind the answer, and what the report says."""
        self.err, first = "", None
        began = time.monotonic()
        self.say(line)
        while not (report := REPORT.search(self.err)):
            ready = self.selector.select(self.patience)
            if not ready:
                sys.exit(f"no answer after {self.patience} s")
            for key, _ in ready:
                part = os.read(key.fd, 1 << 16)
                if not part:
                    sys.exit(f"facet chat ended: {self.err.strip()[-300:]}")
                if key.data == "err":
                    self.err += part.decode(errors="replace")
                elif first is None:
                    first = time.monotonic() - began
        return first, time.monotonic() - began, [int(number) for number in report.groups()]

    def end(self):
        self.child.stdin.close()
        for pipe in (self.child.stdout, self.child.stderr):
            pipe.read()
            pipe.close()
        return self.child.wait()


def row_of(name, chat, line):
    first, whole, (n_answer, n_reused, used, context) = chat.turn(line)
    n_read = used - (n_answer - 1) - n_reused  # the id chosen last is not read
    return {"turn": name, "read": n_read, "reused": n_reused, "answer": n_answer, "used": used, "context": context,
            "first_seconds": first, "seconds": whole}


def question(i):
    return f"Question {i}: what would a traveller want to know about {TOPICS[i % len(TOPICS)]}, and why?"


def measure(options):
    common = [options.facet, "chat", "-m", options.model, "-n", str(options.tokens), "--temperature", "1", "--seed", "1",
              *(["-c", str(options.context)] if options.context else []),
              *(["-t", str(options.threads)] if options.threads else [])]
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        kept = pathlib.Path(folder) / "talk.json"
        chat = Chat(common, options.patience)
        for i in range(1, options.turns + 1):
            rows.append(row_of(i, chat, question(i)))
            print(f"turn {i} of {options.turns}", file=sys.stderr)
        chat.say(f"/save {kept}")
        chat.end()
        cold = Chat([*common, "--load", str(kept)], options.patience)
        rows.append(row_of(f"{options.turns}, cold", cold, "/retry"))
        cold.end()
    return rows


def table(rows):
    yield "| turn | tokens read | reused | tokens of the answer | context | first byte, s | whole turn, s |"
    yield "|---:|---:|---:|---:|---:|---:|---:|"
    for row in rows:
        first = f"{row['first_seconds']:.2f}" if row["first_seconds"] is not None else "-"
        yield (f"| {row['turn']} | {row['read']} | {row['reused']} | {row['answer']} | {row['used']} | {first} "
               f"| {row['seconds']:.2f} |")


def main():
    root = pathlib.Path(__file__).resolve().parent.parent
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("-m", "--model", required=True)
    parser.add_argument("--facet", default=str(root / "build" / "facet"))
    parser.add_argument("--turns", type=int, default=20)
    parser.add_argument("-n", "--tokens", type=int, default=32, help="of each answer, at most")
    parser.add_argument("-c", "--context", type=int)
    parser.add_argument("-t", "--threads", type=int)
    parser.add_argument("--patience", type=float, default=600, help="seconds without a sign")
    parser.add_argument("--json", action="store_true", help="figures and machine as one object")
    options = parser.parse_args()
    facts, rows = machine.facts(), measure(options)
    date = datetime.date.today().isoformat()
    if options.json:
        print(json.dumps({"date": date, "machine": facts, "model": options.model, "turns": rows}, indent=1))
        return
    print(f"{date}, {facts['cpu']}, {facts['cpus']} CPUs, {facts['kernel']}; {os.path.basename(options.model)}\n")
    print("\n".join(table(rows)))


if __name__ == "__main__":
    main()
