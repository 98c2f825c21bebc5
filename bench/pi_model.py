#!/usr/bin/env python3
"""pi_model.py - how fast Gemma 4 E2B should be on a Raspberry Pi 5: bytes, multiply-adds, barriers, instructions.

    bench/pi_model.py                              the tables of bench/pi_model.md
    bench/pi_model.py --bandwidth 12.5 --threads 2 for a board whose bandwidth `facet bench` or `facet doctor` measured (GB/s)
    bench/pi_model.py --count OBJECT               count the kernels of build-pi5/.../neon_dotprod.c.o again, as pi_kernels.json
    bench/pi_model.py --bytes CONFIG [--weights q4] bytes a token of another checkpoint's config.json

Nothing here was measured on a board: see bench/pi_model.md for what is counted, published, or assumed.
"""
import argparse
import collections
import json
import math
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent

# ---- the network ----

E2B = {
    "hidden_size": 1536, "intermediate_size": 6144, "num_hidden_layers": 35, "num_attention_heads": 8, "num_key_value_heads": 1,
    "head_dim": 256, "global_head_dim": 512, "hidden_size_per_layer_input": 256, "num_kv_shared_layers": 20,
    "use_double_wide_mlp": True, "sliding_window": 512, "vocab_size": 262144,
    "layer_types": (["sliding_attention"] * 4 + ["full_attention"]) * 7,
}


class Matrix(collections.namedtuple("Matrix", "rows columns")):
    @property
    def weights(self):
        return self.rows * self.columns

    def bytes(self, group):
        """As packed: 16 rows a strip, tiles of two groups with 64 bytes of scales, 4 bits a code (src/kernels/blocks.h)."""
        strips, tiles = -(-self.rows // 16), -(-self.columns // (2 * group))
        return strips * tiles * (64 + 2 * group * 16 // 2)


class Network:
    def __init__(self, config):
        c = config.get("text_config", config)
        self.c, self.n_layers = c, c["num_hidden_layers"]
        self.own = self.n_layers - c["num_kv_shared_layers"]
        self.full = [kind == "full_attention" for kind in c["layer_types"]]
        self.hidden, self.per_layer = c["hidden_size"], c["hidden_size_per_layer_input"]

    def head_dim(self, i):
        of_layer = (self.c.get("per_layer_config") or {}).get(str(i), {})
        whole = self.c.get("global_head_dim") if self.full[i] else None
        return of_layer.get("head_dim") or whole or self.c["head_dim"]

    def keys_and_values(self, i):
        size = self.c["num_key_value_heads"] * self.head_dim(i)
        return [Matrix(size, self.hidden)] * 2 if i < self.own else []

    def rest(self, i):
        """The matrices of a layer but keys and values."""
        queries = self.c["num_attention_heads"] * self.head_dim(i)
        wide = 2 if i >= self.own and self.c.get("use_double_wide_mlp") else 1
        mlp = wide * self.c["intermediate_size"]
        return [Matrix(queries, self.hidden), Matrix(self.hidden, queries), Matrix(mlp, self.hidden), Matrix(mlp, self.hidden),
                Matrix(self.hidden, mlp), Matrix(self.per_layer, self.hidden), Matrix(self.hidden, self.per_layer)]

    def projection(self, n_layers):
        """What makes the per-layer inputs of so many layers."""
        return Matrix(n_layers * self.per_layer, self.hidden)

    def head(self):
        return Matrix(self.c["vocab_size"], self.hidden)

    def decode_matrices(self):
        layers = [m for i in range(self.n_layers) for m in self.keys_and_values(i) + self.rest(i)]
        return layers + [self.projection(self.n_layers), self.head()]

    def prompt_matrices(self):
        """A prompt's tokens, but the last, pass the layers that write a cache; of the topmost of these only keys and values.
        Of the per-layer inputs they need those of the layers before it."""
        last = self.own - 1
        layers = [m for i in range(last) for m in self.keys_and_values(i) + self.rest(i)]
        return layers + self.keys_and_values(last) + [self.projection(last)]

    def seen(self, i, depth):
        return depth if self.full[i] else min(depth, self.c["sliding_window"])

    def cache_bytes(self, depth):
        """Keys and values in float16 that one token reads behind `depth` tokens: layers that share a cache read it again."""
        kv_heads = self.c["num_key_value_heads"]
        return sum(2 * 2 * kv_heads * self.head_dim(i) * self.seen(i, depth) for i in range(self.n_layers))

    def attention_products(self, depth, layers):
        """Multiply-adds of queries with keys, and of weights with values, for one token behind `depth` tokens."""
        return sum(2 * self.c["num_attention_heads"] * self.head_dim(i) * self.seen(i, depth) for i in layers)


# ---- the board ----

# A Cortex-A76 at 2.4 GHz (Arm's Cortex-A76 Software Optimization Guide): four instructions decoded a cycle, two vector pipes, of
# which one shifts and the other converts, two loads a cycle.
CLOCK, CORES, DECODED, LOADS = 2.4e9, 4, 4, 2
SHIFTS = {"ushr", "sshr", "shl", "ushll", "sshll"}
CONVERSIONS = {"scvtf": 1, "ucvtf": 1, "fcvtl": 2, "fcvtl2": 2}
LOADERS = {"ldr": 1, "ldur": 1, "ldp": 2, "ld1": 1, "ld1r": 1}
VECTOR = {"sdot", "and", "mov", "fmla", "fmul", "fadd", "dup", "sub", "movi", "add", "eor", "orr"}

# Assumed, not measured on this core: what a barrier costs four threads that spin, and the share of the time of a prompt's
# products that norms, activations' rounding, GELU and copies add. A float product of attention takes one lane of one pipe.
BARRIER_SECONDS, BARRIER_RANGE, OTHER_WORK, ATTENTION_PRODUCTS = 1e-6, (0.5e-6, 3e-6), 0.25, 8
# Published, not measured by us: of the 32 products a cycle that two sdot pipes could make, llama.cpp's kernels with four threads
# reach this share on a Pi 5, all their other work included (289.9 tokens/s of Qwen2.5-0.5B: Arm, Measure LLM decode bandwidth limits).
SDOT_PRODUCTS, PUBLISHED_SHARE = 32, 0.34


def cycles_of(kinds):
    """The fewest cycles that so many instructions of each kind can take: no port does more than it can."""
    shifts = sum(kinds.get(kind, 0) for kind in SHIFTS)
    conversions = sum(n * kinds.get(kind, 0) for kind, n in CONVERSIONS.items())
    vector = shifts + conversions + sum(kinds.get(kind, 0) for kind in VECTOR)
    loads = sum(n * kinds.get(kind, 0) for kind, n in LOADERS.items())
    return max(sum(kinds.values()) / DECODED, vector / 2, shifts, conversions, loads / LOADS)


class Kernel:
    """A loop of the shipped code: its instructions, and how many products of a weight and a token it makes."""

    def __init__(self, entry):
        self.products, self.tokens, self.instructions = entry["products"], entry["tokens"], sum(entry["kinds"].values())
        self.cycles = cycles_of(entry["kinds"])

    def products_a_cycle(self):
        return self.products / self.cycles


# ---- counting ----

# Loops over groups of 32 inputs, by the tokens that they take and the sdot that a group of so many rows needs.
WANTED = {"q4_32_pair": (1, 64), "q4_32_4": (4, 64), "matmul_many": (4, 64)}


def loops(instructions):
    """Every branch backwards, with what it jumps over."""
    for address, line in instructions:
        branch = re.match(r"(?:b\.\w+|cbnz\s+\w+,|b)\s+([0-9a-f]+)\b", line)
        if branch and int(branch.group(1), 16) < address:
            yield [text for at, text in instructions if int(branch.group(1), 16) <= at <= address]


def count(path):
    """Instructions of the shortest loop that multiplies and scales a whole group; an sdot makes 16 products."""
    sys.path.insert(0, str(HERE.parent / "tools"))
    import count_instructions
    code, counted = dict(count_instructions.functions(path)), {}
    for name, (tokens, n_sdot) in WANTED.items():
        kinds = [collections.Counter(line.split()[0] for line in loop) for loop in loops(code[name])]
        whole = [k for k in kinds if k["sdot"] >= n_sdot and k["scvtf"] >= 16 * k["sdot"] // 128]
        best = min(whole, key=lambda k: sum(k.values()))
        counted[name] = {"tokens": tokens, "products": 16 * best["sdot"], "kinds": dict(best.most_common())}
    return counted


def barriers_of(network):
    """Barriers of one decoded token, counted in the source: each block of a layer, and what comes before and behind them. Not those
    for layers whose heads or rows cannot be rounded part by part: E2B has none."""
    def waits(file, function):
        text = (HERE.parent / "src" / "transformer" / file).read_text()
        body = re.search(r"^(?:static )?void %s\(.*?^}" % function, text, re.MULTILINE | re.DOTALL).group(0)
        body = re.sub(r"if \(!by_parts\) \{.*?^    \}", "", body, flags=re.MULTILINE | re.DOTALL)
        return body.split("if (by_heads) return;")[0].count("fct_team_wait(")
    layer = (waits("attention.c", "fct_attention_block") + waits("attend.c", "attend_by_chunks") + waits("mlp.c", "fct_mlp_block")
             + waits("embedding.c", "fct_per_layer_block"))
    once = waits("embedding.c", "fct_per_layer_inputs") + waits("forward.c", "head") + 1  # and the end
    return layer, once, network.n_layers * layer + once


# ---- the model ----

class Board:
    def __init__(self, network, kernels, bandwidth, threads, group=32, barrier=BARRIER_SECONDS):
        self.network, self.kernels, self.bandwidth, self.threads = network, kernels, bandwidth, threads
        self.group, self.barrier = group, barrier

    def decode_seconds(self, depth):
        """Weights and cache come from memory while the cores compute: what takes longer counts; barriers come on top."""
        network, kernel = self.network, self.kernels["q4_32_pair"]
        matrices = network.decode_matrices()
        moved = sum(m.bytes(self.group) for m in matrices) + network.cache_bytes(depth)
        cycles = sum(m.weights for m in matrices) / kernel.products_a_cycle()
        cycles += network.attention_products(depth, range(network.n_layers)) / ATTENTION_PRODUCTS
        return max(moved / self.bandwidth, cycles / CLOCK / self.threads) + barriers_of(network)[2] * self.barrier

    def prompt_seconds(self, n_tokens, share=None):
        """All cores compute; weights are read once for each pass of 256 tokens. The last token passes all layers. share: what
        they reach of SDOT_PRODUCTS, all other work included, instead of what the instructions allow."""
        network, kernel = self.network, self.kernels["matmul_many"]
        matrices, passes = network.prompt_matrices(), -(-n_tokens // 256)
        products = n_tokens * sum(m.weights for m in matrices)
        cycles, other = products / kernel.products_a_cycle(), OTHER_WORK
        if share:
            cycles, other = products / (share * SDOT_PRODUCTS), 0
        seen = sum(network.attention_products(depth, range(network.own - 1)) for depth in range(1, n_tokens + 1))
        seconds = (cycles + seen / ATTENTION_PRODUCTS) * (1 + other) / CLOCK / CORES
        moved = passes * sum(m.bytes(self.group) for m in matrices) / self.bandwidth
        return max(seconds, moved) + self.decode_seconds(n_tokens)


# ---- tables ----

def table(heads, rows):
    cells = [list(map(str, row)) for row in [heads] + rows]
    widths = [max(len(row[i]) for row in cells) for i in range(len(heads))]
    lines = ["| " + " | ".join(c.ljust(w) if i == 0 else c.rjust(w) for i, (c, w) in enumerate(zip(row, widths))) + " |"
             for row in cells]
    rule = "|" + "|".join(" " + "-" * w + " " if i == 0 else "-" * (w + 1) + ":" for i, w in enumerate(widths)) + "|"
    return "\n".join([lines[0], rule] + lines[1:])


# Published by others, not measured by us. Read bandwidth of a Pi 5 by threads, and tokens a second of E2B.
PUBLISHED_BANDWIDTH = [(1, 9.26, "llama.cpp issue 26484, 2 GB board"), (2, 13.23, "the same"), (4, 11.59, "the same"),
                       (1, 11.2, "Arm, Measure LLM decode bandwidth limits"), (2, 11.7, "the same")]
PUBLISHED_SPEED = [
    ("llama.cpp, Q4_K_M", "Pi 5 16 GB", "28.0", "6.71", "potato-os/core, 2026-04-04"),
    ("llama.cpp, Q4_K_M", "Pi 5 8 GB", "31.9", "5.97", "the same"),
    ("LiteRT-LM", "Pi 5 16 GB", "133", "8", "Google's LiteRT-LM overview, 2026"),
    ("ExecuTorch 1.2", "Pi 5 8 GB", "0.6-0.8", "0.72-0.87", "the earlier build's model card"),
]
DEPTHS, PROMPTS = (0, 512, 2048, 8192, 32768), (128, 512, 2048)


def million(n):
    return f"{n / 1e6:.1f} M"


def print_work(network):
    decode, prompt = network.decode_matrices(), network.prompt_matrices()
    layer, once, barriers = barriers_of(network)
    print("### Work\n")
    print(table(["", "an answer's token", "a prompt's token"], [
        ["multiply-adds with weights", million(sum(m.weights for m in decode)), million(sum(m.weights for m in prompt))],
        ["bytes of weights, q4", million(sum(m.bytes(32) for m in decode)), million(sum(m.bytes(32) for m in prompt))],
        ["bytes of weights, q4-g128", million(sum(m.bytes(128) for m in decode)), million(sum(m.bytes(128) for m in prompt))]]))
    print(f"\nBarriers of an answer's token: {layer} a layer and {once} besides, {barriers} in all.\n")
    print(table(["tokens before", "cache read, bytes", "attention, multiply-adds"],
                [[f"{depth:,}", million(network.cache_bytes(depth)),
                  million(network.attention_products(depth, range(network.n_layers)))] for depth in DEPTHS]))


def print_kernels(kernels):
    print("\n### Kernels\n")
    rows = []
    for name, what in (("q4_32_pair", "one token, two strips"), ("q4_32_4", "four tokens"), ("matmul_many", "many tokens, unpacked")):
        k = kernels[name]
        rows.append([f"{name}: {what}", f"{k.instructions / k.products * 32:.2f}", f"{k.cycles / k.products * 32:.2f}",
                     f"{k.products_a_cycle() * CLOCK / 1e9:.1f}"])
    print(table(["loop", "instructions for 32 products", "cycles for 32 products", "G products/s a core"], rows))
    k = kernels["q4_32_pair"]
    rate = k.products_a_cycle() * CLOCK * 576 / 1024
    print(f"\nOne core eats {rate / 1e9:.1f} GB/s of q4 weights: {math.ceil(13.23e9 / rate)} would keep up with the best"
          " published bandwidth of two.")


def print_speeds(network, kernels, bandwidths):
    print("\n### Answers, tokens a second\n")
    heads = ["bandwidth, GB/s (threads)", "scheme"] + [f"behind {depth:,}" for depth in DEPTHS]
    rows = []
    for bandwidth, threads in bandwidths:
        for scheme, group in (("q4", 32), ("q4-g128", 128)):
            board = Board(network, kernels, bandwidth * 1e9, threads, group)
            rows.append([f"{bandwidth:g} ({threads})", scheme] + [f"{1 / board.decode_seconds(d):.1f}" for d in DEPTHS])
    print(table(heads, rows))
    few, many = (Board(network, kernels, bandwidths[0][0] * 1e9, bandwidths[0][1], barrier=b) for b in BARRIER_RANGE)
    print(f"\nWith barriers of {BARRIER_RANGE[0] * 1e6:g} or {BARRIER_RANGE[1] * 1e6:g} µs instead of {BARRIER_SECONDS * 1e6:g}"
          f" µs, q4 in the first row: {1 / few.decode_seconds(0):.1f} or {1 / many.decode_seconds(0):.1f}.")
    print("\n### Prompts, tokens a second\n")
    board = Board(network, kernels, bandwidths[0][0] * 1e9, bandwidths[0][1])
    print(table(["tokens", "as the instructions allow", "first token, s", f"at {PUBLISHED_SHARE:.0%} of the peak", "first token, s"],
                [[n] + [text for share in (None, PUBLISHED_SHARE) for seconds in [board.prompt_seconds(n, share)]
                        for text in (f"{n / seconds:.0f}", f"{seconds:.2f}")] for n in PROMPTS]))


def span(values, digits):
    low, high = f"{min(values):.{digits}f}", f"{max(values):.{digits}f}"
    return low if low == high else f"{low}-{high}"


def print_published(network, kernels, bandwidths):
    boards = [Board(network, kernels, bandwidth * 1e9, threads) for bandwidth, threads in bandwidths]
    print("\n### Beside what others published (not measured by us)\n")
    prompts = [512 / board.prompt_seconds(512, share) for board in boards for share in (None, PUBLISHED_SHARE)]
    answers = [1 / board.decode_seconds(0) for board in boards]
    rows = [["facet, q4, this model", "Pi 5", span(prompts, 0), span(answers, 1), "computed above, not measured"]]
    print(table(["engine, file", "board", "prompt, tok/s", "answer, tok/s", "source"], rows + [list(r) for r in PUBLISHED_SPEED]))
    print()
    print(table(["threads", "read, GB/s", "source"], [[t, b, s] for t, b, s in PUBLISHED_BANDWIDTH]))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bandwidth", type=float, help="measured, GB/s")
    parser.add_argument("--threads", type=int, default=2, help="that measured it, and write answers")
    parser.add_argument("--kernels", default=HERE / "pi_kernels.json", help="what --count printed")
    parser.add_argument("--count", metavar="OBJECT")
    parser.add_argument("--bytes", metavar="CONFIG")
    parser.add_argument("--weights", choices=["q4", "q4-g64", "q4-g128"], default="q4")
    options = parser.parse_args()
    if options.count:
        print(json.dumps(count(options.count), indent=1))
        return
    if options.bytes:
        network = Network(json.loads(pathlib.Path(options.bytes).read_text()))
        group = {"q4": 32, "q4-g64": 64, "q4-g128": 128}[options.weights]
        print(sum(m.bytes(group) for m in network.decode_matrices()))
        return
    if options.bandwidth is not None and (options.bandwidth <= 0 or not 1 <= options.threads <= CORES):
        parser.error("a bandwidth above 0 and 1 to 4 threads")
    kernels = {name: Kernel(entry) for name, entry in json.loads(pathlib.Path(options.kernels).read_text()).items()}
    network = Network(E2B)
    bandwidths = [(options.bandwidth, options.threads)] if options.bandwidth else [(13.23, 2), (11.7, 2), (11.59, 4), (9.26, 1)]
    print_work(network)
    print_kernels(kernels)
    print_speeds(network, kernels, bandwidths)
    print_published(network, kernels, bandwidths)


if __name__ == "__main__":
    main()
