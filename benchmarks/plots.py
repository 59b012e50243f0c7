"""Growth as a picture: log-log, each line named where it ends, readable in both themes."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import asdict
from io import StringIO
from pathlib import Path

from benchmarks.results import Growth
from benchmarks.telling import is_ours

GREY = "#848d97"
OURS = ("#2f81f7", "#a371f7")
OTHERS = ("#d18616", "#3fb950", "#848d97")
APART = 0.14
"""Of the height: how far the names of two lines are kept from each other."""


def made_from(table: Growth) -> str:
    """Names the data and this module: what a picture is made from is written in it."""
    source = Path(__file__).read_bytes()
    data = json.dumps(asdict(table), sort_keys=True).encode()
    return hashlib.sha256(source + data).hexdigest()


def drawn(table: Growth) -> str:
    """The SVG."""
    import matplotlib as mpl
    from matplotlib.figure import Figure
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    style = {
        "svg.hashsalt": "gradledger",
        "svg.fonttype": "none",
        "font.size": 11,
        "text.color": GREY,
        "axes.edgecolor": GREY,
        "axes.labelcolor": GREY,
        "xtick.color": GREY,
        "ytick.color": GREY,
    }
    with mpl.rc_context(style):
        figure = Figure(figsize=(8.4, 3.9))
        axes = figure.add_axes((0.09, 0.15, 0.6, 0.76))
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xticks(table.x)
        low, high = _room(table)
        axes.set_ylim(low, high)
        axes.yaxis.set_major_locator(LogLocator(subs=(1,) if high > 300 * low else (1, 2, 5)))
        colours = _colours(table)
        for name, ys in table.series.items():
            points = [(x, y) for x, y in zip(table.x, ys, strict=True) if y is not None]
            axes.plot(*zip(*points, strict=True), marker="o", ms=4, lw=1.8, color=colours[name])
        axes.grid(which="major", color=GREY, alpha=0.25, lw=0.7)
        axes.set_xlabel(table.x_label)
        axes.set_title(table.y_label, loc="left", fontsize=11)
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter(FuncFormatter(lambda value, _: short(value)))
            axis.set_minor_locator(NullLocator())
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
        for name, height in heights(table).items():
            text = f"{name}\nslope {table.slopes[name]:.2f}"
            where = axes.transAxes
            axes.text(1.02, height, text, color=colours[name], va="center", transform=where)
        picture = StringIO()
        described = f"made from {made_from(table)}"
        figure.savefig(
            picture,
            format="svg",
            transparent=True,
            metadata={"Date": None, "Description": described},
        )
    return picture.getvalue()


def short(value: float) -> str:
    """1,000 as 1 k."""
    for unit, size in ((" M", 1e6), (" k", 1e3)):
        if value >= size:
            return f"{value / size:g}{unit}"
    return f"{value:g}"


def _colours(table: Growth) -> dict[str, str]:
    ours, others = iter(OURS), iter(OTHERS)
    return {name: next(ours if is_ours(name) else others) for name in table.series}


def _room(table: Growth) -> tuple[float, float]:
    """A flat line is to look flat: at least a decade."""
    values = [y for ys in table.series.values() for y in ys if y]
    low, high = math.log10(min(values)), math.log10(max(values))
    margin = max(0.08 * (high - low), (1.1 - (high - low)) / 2)
    return float(10 ** (low - margin)), float(10 ** (high + margin))


def heights(table: Growth) -> Mapping[str, float]:
    """Where each line ends, moved apart just so much that the names can be read."""
    low, high = map(math.log10, _room(table))
    ends = {name: [y for y in ys if y][-1] for name, ys in table.series.items()}
    wanted = sorted((math.log10(y) - low) / (high - low) for y in ends.values())
    placed = list(wanted)
    for _ in range(100):
        placed[-1] = min(placed[-1], 1 - APART / 4)
        for i in range(len(placed) - 1):
            overlap = APART - (placed[i + 1] - placed[i])
            if overlap > 0:
                placed[i] -= overlap / 2
                placed[i + 1] += overlap / 2
    return dict(zip(sorted(ends, key=lambda name: ends[name]), placed, strict=True))
