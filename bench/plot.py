"""plot.py - compare.py's medians as bars in an SVG: a panel for each thing measured, a colour for each program."""
from xml.sax.saxutils import escape

import summary

COLOURS = ["#1f6f8b", "#7fb7c9", "#d1495b", "#edae49", "#8d6b94"]
WIDTH, LEFT, RIGHT, BAR, GAP = 940, 360, 90, 16, 12
BARS_WIDTH = WIDTH - LEFT - RIGHT


class Drawing:
    def __init__(self):
        self.parts, self.y = [], 0

    def text(self, x, y, words, size=13, anchor="start", colour="#222", weight="normal"):
        self.parts.append(f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" fill="{colour}" '
                          f'font-weight="{weight}">{escape(words)}</text>')

    def bar(self, y, width, colour):
        self.parts.append(f'<rect x="{LEFT}" y="{y:.1f}" width="{max(width, 1):.1f}" height="{BAR - 3}" fill="{colour}"/>')

    def finish(self):
        height = self.y + 16
        return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}" width="{WIDTH}" height="{height:.0f}" '
                'font-family="sans-serif">\n'
                f'<rect width="{WIDTH}" height="{height:.0f}" fill="#fff"/>\n' + "\n".join(self.parts) + "\n</svg>\n")


def legend(drawing, programs):
    x = 20
    for name, colour in programs.items():
        drawing.parts.append(f'<rect x="{x}" y="{drawing.y - 10}" width="12" height="12" fill="{colour}"/>')
        drawing.text(x + 17, drawing.y, name)
        x += 45 + 7.2 * len(name)
    drawing.y += 20


def group(drawing, data, model, task, programs):
    """One thing measured: a bar for each program, scaled to the largest of them."""
    bars = {name: summary.median(list(summary.values(data, model, name, task).values())) for name in programs}
    bars = {name: value for name, value in bars.items() if value is not None}
    if not bars:
        return
    largest = max(bars.values())
    words = summary.label(*task) + (" (less is better)" if task[0] in summary.SMALLER_IS_BETTER else "")
    drawing.text(LEFT - 10, drawing.y + BAR * len(bars) / 2 + 3, words, anchor="end", size=12)
    for name, value in bars.items():
        width = BARS_WIDTH * value / largest if largest else 0
        drawing.bar(drawing.y, width, programs[name])
        drawing.text(LEFT + width + 6, drawing.y + 11, summary.text(value), size=12)
        drawing.y += BAR
    drawing.y += GAP


def svg(data):
    drawing = Drawing()
    drawing.y = 28
    drawing.text(20, drawing.y, f"facet and its peers: {data['machine']['cpu']}, {data['threads']} threads", size=17, weight="bold")
    if not data["clean"]:
        drawing.y += 24
        drawing.text(20, drawing.y, "NOT A CLEAN RUN: other load was on the machine, these are no measurements", size=14, colour="#b00020",
                     weight="bold")
    names = list(dict.fromkeys(name for programs in data["programs"].values() for name in programs))
    colours = dict(zip(names, COLOURS))
    drawing.y += 28
    legend(drawing, colours)
    titles = {"full": "E2B, full size", "short": "10 layers of the same widths"}
    for model, programs in data["programs"].items():
        drawing.y += 20
        drawing.text(20, drawing.y, titles[model], size=15, weight="bold")
        drawing.y += 14
        for kind in ("prefill", "decode", "first", "memory"):
            for task in [task for task in summary.tasks(data, model) if task[0] == kind]:
                group(drawing, data, model, task, {name: colours[name] for name in programs})
    return drawing.finish()
