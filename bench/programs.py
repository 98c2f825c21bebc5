"""programs.py - facet and its peers as things that can be asked for a number: how each is called, and what it says.

A task is (kind, size). Kinds: prefill (tok/s of a prompt of size tokens), decode (tok/s of an answer behind size tokens),
first (seconds from the start of the process to the first token of a short prompt), memory (peak bytes for a prompt of
size tokens and an answer). measure() gives the value and what else the program said in passing.
"""
import json
import pathlib
import re

from child import Failed, Run

STEPS = 32          # tokens of an answer that are timed
SHORT_PROMPT = 14   # tokens of the prompt whose first answer token is waited for


class Program:
    def __init__(self, name, model, threads, file):
        self.name, self.model, self.threads, self.file = name, model, threads, pathlib.Path(file)

    def there(self):
        return self.file.exists()

    def can(self, task):
        return True

    def file_bytes(self):
        return self.file.stat().st_size


class Facet(Program):
    def __init__(self, name, model, threads, file, program):
        super().__init__(name, model, threads, file)
        self.program = program

    def version(self):
        return Run([self.program, "--version"]).out.strip()

    def measure(self, kind, size):
        common = ["-m", self.file, "-t", self.threads, "--quiet"]
        if kind == "first":
            ids = ",".join(str(1000 + i) for i in range(SHORT_PROMPT))
            run = Run([self.program, "run", *common, "--prompt-ids", ids, "-n", 1, "--ids", "--temperature", 0])
            return {"value": run.first_byte_seconds, "prompt_tokens": SHORT_PROMPT, "run": run}
        tokens = {"prefill": ["-p", size, "-n", 0],
                  "decode": ["-p", 0, "-n", STEPS + 1, "-d", size],
                  "memory": ["-p", size, "-n", STEPS + 1]}[kind]
        run = Run([self.program, "bench", *common, *tokens, "-r", 1, "--json"])
        said = json.loads(run.out)
        value = said[{"prefill": "prefill_tokens_per_second", "decode": "decode_tokens_per_second",
                      "memory": "peak_resident_bytes"}[kind]]
        return {"value": value, "said": said, "run": run}


class LlamaCpp(Program):
    def __init__(self, name, model, threads, file, folder, environment=None):
        super().__init__(name, model, threads, file)
        self.folder, self.environment = pathlib.Path(folder), environment or {}

    def there(self):
        return self.file.exists() and (self.folder / "build/bin/llama-bench").exists()

    def version(self):
        def said(name):
            file = self.folder / name
            return file.read_text().strip() if file.exists() else "?"
        return f"llama.cpp of llama-cpp-python {said('facet-bench-version')}, built with {said('facet-bench-flags')}"

    @staticmethod
    def loaded(log):
        """Seconds until the model was loaded, by the clock in front of the log's lines: minutes.seconds.ms.us; None: not said."""
        found = re.search(r"^(\d+)\.(\d+)\.(\d+)\.(\d+) I generate:", log, re.MULTILINE)
        return sum(int(part) * unit for part, unit in zip(found.groups(), (60, 1, 1e-3, 1e-6))) if found else None

    def measure(self, kind, size):
        common = ["-m", self.file, "-t", self.threads, "-fa", "on"]
        if kind == "first":
            prompt = "1234567890123"[:SHORT_PROMPT - 1]  # digits are a token each in both vocabularies; the BOS comes in front
            run = Run([self.folder / "build/bin/llama-completion", *common, "-p", prompt, "-n", 1, "--temp", 0, "-no-cnv",
                       "--no-warmup", "--no-display-prompt", "-sp", "-c", 512], self.environment)
            return {"value": run.first_byte_seconds or run.seconds, "said": {"load_seconds": self.loaded(run.err)},
                    "prompt_tokens": run.number(r"prompt eval time.*?/\s*(\d+) tokens"), "run": run}
        tokens = {"prefill": ["-p", size, "-n", 0],
                  "decode": ["-p", 0, "-n", STEPS, "-d", size],
                  "memory": ["-p", size, "-n", STEPS]}[kind]
        run = Run([self.folder / "build/bin/llama-bench", *common, *tokens, "-r", 1, "-o", "json"], self.environment)
        if kind == "memory":
            return {"value": run.peak_bytes, "run": run}
        said = json.loads(run.out)[-1]
        return {"value": said["avg_ts"], "said": said, "run": run}


class LiteRtLm(Program):
    """Files hold a cache of a fixed length: the first of them that is long enough is taken."""

    def __init__(self, name, model, threads, files, folder):
        super().__init__(name, model, threads, files[0][1])
        self.files, self.folder = [(n, pathlib.Path(file)) for n, file in files], pathlib.Path(folder)

    def there(self):
        return any(file.exists() for _, file in self.files) and (self.folder / "bin/litert-lm").exists()

    def version(self):
        names = {file.name for file in self.folder.glob("lib/python*/site-packages/*.dist-info")}
        found = [re.search(rf"^{package}-([0-9.]+)\.dist-info$", name)
                 for package in ("litert_lm", "litert_torch") for name in names]
        return "LiteRT-LM " + ", export by litert-torch ".join(match.group(1) for match in found if match)

    def fitting(self, kind, size):
        needed = {"decode": max(size, 1) + STEPS, "first": SHORT_PROMPT + 1}.get(kind, size + STEPS)
        return next(((n, file) for n, file in self.files if n >= needed and file.exists()), None)

    def can(self, task):
        return self.fitting(*task) is not None

    def measure(self, kind, size):
        length, file = self.fitting(kind, size)
        prompt = {"first": SHORT_PROMPT, "decode": size or 1}.get(kind, size)
        steps = 1 if kind == "first" else STEPS
        run = Run([self.folder / "bin/litert-lm", "benchmark", file, "-p", prompt, "-d", steps, "--runs", 1, "--backend", "cpu",
                   "--cpu-thread-count", self.threads, "--cache", "disk", "--max-num-tokens", length,
                   *(["--skip-warmup"] if kind == "first" else [])])
        said = {"prefill": run.number(r"Prefill speed:\s*([0-9.]+)"), "decode": run.number(r"Decode speed:\s*([0-9.]+)"),
                "load_seconds": run.number(r"Init time:\s*([0-9.]+)"),
                "first_token_seconds": run.number(r"Time to first token:\s*([0-9.]+)")}
        if kind == "first":  # Python's own start is left out, in favour of the peer
            return {"value": said["load_seconds"] + said["first_token_seconds"], "prompt_tokens": prompt, "said": said, "run": run}
        value = run.peak_bytes if kind == "memory" else said[kind]
        return {"value": value, "said": said, "run": run}


class Kernels:
    """check_kernels --bench: the shapes of the network on their own, M tokens sharing one pass over the weights."""

    LINE = re.compile(r"^(\S+)\s+(\S+)\s+(.+?)\s+(\d+) x (\d+)\s+M=(\d+)\s+([0-9.]+) GMAC/s", re.MULTILINE)
    SHAPES = "gate, up 2,down 2,head"

    def __init__(self, program, threads):
        self.program, self.threads = pathlib.Path(program), threads

    def measure(self, table, scheme):
        """{shape: {M: seconds of a pass over M tokens, by the seconds of one token}}"""
        run = Run([self.program, "--bench", "--threads", self.threads, "--tables", table, "--schemes", scheme,
                   "--shapes", self.SHAPES])
        curves = {}
        for _, _, shape, _, _, tokens, gmacs in self.LINE.findall(run.out):
            curves.setdefault(shape, {})[int(tokens)] = int(tokens) / float(gmacs)
        if not curves:
            raise Failed(f"{self.program} printed no line that can be read")
        return {shape: {m: t / curve[1] for m, t in curve.items()} for shape, curve in curves.items() if 1 in curve}
