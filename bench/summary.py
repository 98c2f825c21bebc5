"""summary.py - medians and ratios of raw rows: what compare.py's table and its picture both show."""
import statistics

LABELS = {"prefill": "prompt of {} tokens, tok/s", "decode": "answer behind {} tokens, tok/s",
          "first": "first token, prompt of {} tokens, s", "memory": "peak memory, prompt of {} tokens, MB"}
SMALLER_IS_BETTER = ("first", "memory")


def label(kind, size):
    return LABELS[kind].format(f"{size:,}")


def tasks(data, model):
    """(kind, size) of what was measured of a model, in the order of measuring."""
    return list(dict.fromkeys((row["kind"], row["size"]) for row in data["rows"] if row["model"] == model))


def values(data, model, program, task):
    """{round: value}"""
    scale = 1e-6 if task[0] == "memory" else 1
    return {row["round"]: row["value"] * scale for row in data["rows"]
            if (row["model"], row["program"], row["kind"], row["size"]) == (model, program, *task)}


def median(numbers):
    return statistics.median(numbers) if numbers else None


def advantage(data, model, ours, theirs, task):
    """How many times as good ours is: the median of the ratios inside each round. None: nothing to compare."""
    a, b = values(data, model, ours, task), values(data, model, theirs, task)
    ratios = [a[n] / b[n] for n in a.keys() & b.keys() if a[n] and b[n]]
    if task[0] in SMALLER_IS_BETTER:
        ratios = [1 / ratio for ratio in ratios]
    return median(ratios)


def said(data, model, program, key):
    """The median of a number that a program told in passing."""
    return median([row["said"][key] for row in data["rows"]
                   if row["model"] == model and row["program"] == program and row.get("said", {}).get(key) is not None])


def text(value):
    """Three digits, no exponent."""
    if value is None:
        return "–"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}" if abs(value) >= 0.001 else f"{value:.4f}"
