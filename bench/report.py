"""report.py - what compare.py measured, as Markdown: conditions first, then tables, then how to do it again."""
from pathlib import Path

import summary
from summary import text

MODELS = {"full": "Gemma 4 E2B, full size, random weights",
          "short": "10 layers of E2B's widths, 32,768 pieces, random weights"}


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return lines + ["| " + " | ".join(row) + " |" for row in rows] + [""]


def gigabytes(n_bytes):
    return f"{n_bytes / 1e9:.2f} GB"


def state(data):
    if data["clean"]:
        return ["**Clean run**: nobody else used the machine (others "
                f"{data['others_during']['others']:.1%}, hypervisor {data['others_during']['stolen']:.1%} of the CPUs).", ""]
    return ["**NOT A CLEAN RUN. These numbers show that the programs work, not how fast they are:**", "",
            *[f"- {reason}" for reason in data["not_clean_because"]], ""]


def conditions(data):
    m = data["machine"]
    lines = [f"- {data['date']}, {'quick' if data['quick'] else 'full'}, {data['threads']} threads: `{' '.join(data['command'])}`",
             f"- {m['cpu']}, {m['cpus']} CPUs ({' '.join(m['flags'])}), {gigabytes(m['memory_bytes'])}, {m['kernel']}",
             f"- pages of {m['page_bytes'] // 1024} KiB, huge pages {m['huge_pages']}, governor {m['governor']}, "
             f"load average at the start {m['load_average'][0]:.2f}; at the end {data['pages']['AnonHugePages'] // 1024:,} MB anonymous and {data['pages']['FileHugePages'] // 1024:,} MB "
             "of cached files in huge pages"]
    lines += [f"- {name}: {version}" for name, version in data["versions"].items()]
    if data["missing"]:
        lines.append("- not there, so not measured: " + ", ".join(data["missing"]))
    lines += [f"- failed: {row['program']}, {row['model']} {row['task'][0]} {row['task'][1]}: {row['why']}" for row in data["failed"]]
    return lines + [""]


def cell(data, model, program, task):
    numbers = list(summary.values(data, model, program, task).values())
    if len(numbers) < 2:
        return text(summary.median(numbers))
    return f"{text(summary.median(numbers))} ({text(min(numbers))}–{text(max(numbers))})"


def comparison(data, model):
    programs = data["programs"][model]
    ours, peers = programs[0], [name for name in programs if not name.startswith("facet")]
    tasks = [task for task in summary.tasks(data, model) if any(summary.values(data, model, p, task) for p in programs)]
    rows = []
    for task in tasks:
        advantages = [summary.advantage(data, model, ours, peer, task) for peer in peers]
        rows.append([summary.label(*task), *[cell(data, model, program, task) for program in programs],
                     *["–" if a is None else f"**{a:.2f}**" for a in advantages]])
    rows.append(["file", *[gigabytes(data["file_bytes"][model][p]) for p in programs], *["" for _ in peers]])
    head = ["", *programs, *[f"{ours} against {peer}" for peer in peers]]
    return [f"## {MODELS[model]}", "", *table(head, rows)]


# Q4_0 has the bits of q4, 4.5 for a weight; int4 with a scale for a whole row has 4.
INT4_OF_Q4 = 4 / 4.5


def beside(data, model, program):
    """What facet measured right before and after its answers, as memory may be half as fast a minute later."""
    share = summary.median([row["said"]["bandwidth_share"] for row in data["rows"]
                            if (row["model"], row["program"], row["kind"], row["size"]) == (model, program, "decode", 0)
                            and row.get("said", {}).get("bandwidth_share") is not None])
    return "" if share is None else f", {share:.0%} of what they read right before and after"


def reading(data, model):
    """What the weights that a token needs say about memory. facet says how many bytes they have; the peers' follow."""
    lines = []
    for program in data["programs"][model]:
        decode = summary.median(list(summary.values(data, model, program, ("decode", 0)).values()))
        own = program if program.startswith("facet") else "facet q4"
        per_token = summary.said(data, model, own, "bytes_per_token")
        if decode is None or per_token is None:
            continue
        if program.startswith("LiteRT"):
            per_token *= INT4_OF_Q4
        bandwidth = summary.said(data, model, own, "bandwidth_bytes_per_second")
        lines.append(f"- {program}: {gigabytes(per_token)} a token, {gigabytes(per_token * decode)}/s: "
                     f"{per_token * decode / bandwidth:.0%} of the {gigabytes(bandwidth)}/s that {data['threads']} threads read here in "
                     "the same run" + beside(data, model, program))
    loads = [(p, summary.said(data, model, p, "load_seconds")) for p in data["programs"][model]]
    settled = summary.said(data, model, "facet q4", "settle_seconds")
    if any(seconds is not None for _, seconds in loads):
        lines.append("- load: " + ", ".join(f"{p} {text(seconds)} s" for p, seconds in loads if seconds is not None)
                     + ("" if settled is None else f"; facet's weights lay where they stay {text(settled)} s after its first run"))
    return lines + [""] if lines else []


def variants(data, model):
    names = list(dict.fromkeys(row["program"] for row in data["rows"]
                               if row["model"] == model and row["program"] not in data["programs"][model]))
    rows = []
    for name in names:
        base = name.split(",")[0]
        for task in summary.tasks(data, model):
            if summary.values(data, model, name, task):
                gain = summary.advantage(data, model, base, name, task)
                rows.append([name, summary.label(*task), cell(data, model, name, task), "–" if gain is None else f"{gain:.2f}"])
    return table(["variant", "", "", f"with {data['threads']} threads, as above, so many times as fast"], rows) if rows else []


def batches(data):
    curves = data["batch_curves"]
    if not curves:
        return []
    tokens = sorted({int(m) for curve in curves.values() for m in curve})
    rows = [[name, *[text(curve.get(m, curve.get(str(m)))) for m in tokens]] for name, curve in curves.items()]
    return ["## Several tokens in one pass over the weights", "",
            "Time for M tokens by the time for one, facet's kernels alone (`check_kernels --bench`); up to 8 the weights come from "
            "memory.", "", *table(["", *[f"M = {m}" for m in tokens]], rows)]


def commands(data):
    seen = {}
    for row in data["rows"]:
        seen.setdefault((row["model"], row["program"], row["kind"], row["size"]), " ".join(row["command"]))
    return ["## Commands", "", "Each once; rounds repeat them in this order, program after program.", "", "```",
            *[command if len(command) < 400 else command[:400] + " …" for command in seen.values()], "```", ""]


METHOD = """Medians over the rounds, in brackets the lowest and the highest. The last columns are medians of the ratios inside each
round, in which one program runs right after the other; above 1, facet is better. All rates are without the load. The time to
the first token runs from the start of the process to its first byte of output; LiteRT-LM's is what its benchmark says, without
the start of Python. Its answer "behind 0 tokens" stands behind one token.
"""


def markdown(data):
    lines = ["# facet and its peers", "", *state(data), *conditions(data), *METHOD.splitlines(), ""]
    for model in data["programs"]:
        lines += [*comparison(data, model), *reading(data, model), *variants(data, model)]
    page = "\n".join([*lines, *batches(data), *commands(data)])
    return page.replace(f"{Path.home()}/", "~/")  # the page is for others, whose home is another
