"""Writes docs/benchmarks.md, its plots and the README's numbers from benchmarks/results.

`python -m benchmarks.publish` writes them, and with `--check` fails when they are not what it would
write. Only drawing needs matplotlib: a plot says in itself what it was made from.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from difflib import unified_diff
from pathlib import Path

from benchmarks.headlines import headlines
from benchmarks.losses import losses
from benchmarks.plots import drawn, made_from
from benchmarks.results import PUBLISHED, Growth, Ratios, Results
from benchmarks.suites import NAMES
from benchmarks.telling import NOISE, by_ratio, picture, ratio, section, tabled

ROOT = Path(__file__).resolve().parent.parent
PAGE, PICTURES = "docs/benchmarks.md", "docs/pictures/benchmarks"
BLOCK = re.compile(r"(<!-- benchmarks: .*? -->\n).*?(<!-- /benchmarks -->)", re.DOTALL)
NOTE = "<!-- Written by `make bench` from benchmarks/results. Measure again, don't edit. -->"


class Unpublishable(Exception):
    """The results are not there, or not for the public."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Writes, or checks."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.publish", description=__doc__)
    parser.add_argument("--check", action="store_true", help="change nothing; fail if stale")
    options = parser.parse_args(arguments)
    try:
        results = read(PUBLISHED)
        stale = publish(results, ROOT, check=options.check)
    except Unpublishable as error:
        print(f"benchmarks: {error}", file=sys.stderr)
        return 1
    if options.check and stale:
        print(*stale, sep="\n", file=sys.stderr)
        print(
            "benchmarks: these are not made from benchmarks/results. To write them: "
            "`.venv-bench/bin/python -m benchmarks.publish`",
            file=sys.stderr,
        )
    return 1 if options.check and stale else 0


def read(folder: Path) -> list[Results]:
    """In the order in which they are told."""
    there = [name for name in NAMES if (folder / f"{name}.json").exists()]
    if not there:
        raise Unpublishable("there are no results. To measure: `make bench`")
    results = [Results.read(folder / f"{name}.json") for name in there]
    if quick := [each.name for each in results if each.quick]:
        raise Unpublishable(f"the results of {', '.join(quick)} are quick ones, and too rough")
    return results


def publish(results: Sequence[Results], root: Path, *, check: bool = False) -> list[str]:
    """Writes what is not as it should be, or only looks; tells what that was."""
    stale = []
    readme = (root / "README.md").read_text(encoding="utf-8")
    for name, text in ((PAGE, page(results)), ("README.md", with_numbers(readme, results))):
        path = root / name
        old = path.read_text(encoding="utf-8") if path.exists() else ""
        if old != text:
            difference = unified_diff(
                old.splitlines(), text.splitlines(), name, name, lineterm="", n=0
            )
            stale.append("\n".join(list(difference)[:20]))
            if not check:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
    return stale + _draw(results, root / PICTURES, check=check)


def _draw(results: Iterable[Results], folder: Path, *, check: bool) -> list[str]:
    plots = {
        picture(each, key): table
        for each in results
        for key, table in each.tables.items()
        if isinstance(table, Growth)
    }
    stale = []
    for name, plot in plots.items():
        path = folder / name
        if not path.exists() or made_from(plot) not in path.read_text(encoding="utf-8"):
            stale.append(f"{PICTURES}/{name}")
            if not check:
                folder.mkdir(parents=True, exist_ok=True)
                path.write_text(drawn(plot), encoding="utf-8")
    for path in sorted(folder.glob("*.svg")):
        if path.name not in plots:
            stale.append(f"{PICTURES}/{path.name}, of which there is no result")
            if not check:
                path.unlink()
    return stale


def page(results: Sequence[Results]) -> str:
    """docs/benchmarks.md."""
    parts = [
        "# Side by side",
        NOTE,
        "What gradledger costs and what it is right about, next to what people use today. Each "
        "peer is used as its own documentation says, and each cell is measured: `make bench` puts "
        "the peers into an environment of their own, measures it all again, and writes this page.",
        "Times are medians of interleaved runs, as ratios to the first of the table, with the "
        "middle half of the ratios below them: under 1 is faster. **Bold** is the best of ours and "
        "the peers. ✓ is what one would want, ✗ is not.",
        f"Measured on {_machines(results)}. {_noise(results)} {_versions(results)}",
        *_left_out(results),
        "## Where we lose",
        _losses(results),
        *(section(each, PICTURES.removeprefix("docs/")) for each in results),
    ]
    return "\n\n".join(parts) + "\n"


def with_numbers(readme: str, results: Sequence[Results]) -> str:
    """The README with its block of numbers."""
    if not BLOCK.search(readme):
        raise Unpublishable("the README has no `<!-- benchmarks: … -->` and `<!-- /benchmarks -->`")
    return BLOCK.sub(lambda found: f"{found[1]}\n{headlines(results)}\n\n{found[2]}", readme)


def _losses(results: Sequence[Results]) -> str:
    lines = [["", "where", "ours", "better", ""]]
    for benchmark in results:
        title = f"**{benchmark.title}**"
        for each in losses(benchmark):
            lines.append([title, each.where, each.ours, each.better, each.remark])
            title = ""
    if len(lines) == 1:
        return "Nowhere, this time: no peer is better in any row, and no goal is missed."
    return tabled(lines)


def _left_out(results: Sequence[Results]) -> Iterator[str]:
    """What has no results, so that nobody takes silence for success."""
    there = {each.name for each in results}
    if missing := [name for name in NAMES if name not in there]:
        yield f"Not measured yet, or not to its end: {', '.join(missing)}."


def _machines(results: Sequence[Results]) -> str:
    said = (
        f"{m['processor']} with {m['cores']} cores, {m['system']}, Python {m['python']}"
        for m in (each.machine for each in results)
    )
    return "; and on ".join(dict.fromkeys(said))


def _noise(results: Sequence[Results]) -> str:
    rows = [
        row
        for each in results
        for table in each.tables.values()
        if isinstance(table, Ratios)
        for row in table.rows
        if NOISE in row.name and row.ratio is not None
    ]
    if not rows:
        return ""
    low, high = min(rows, key=by_ratio), max(rows, key=by_ratio)
    return (
        "The noise, which is the same thing measured against itself, came out between "
        f"{ratio(by_ratio(low))} and {ratio(by_ratio(high))}."
    )


def _versions(results: Sequence[Results]) -> str:
    versions: dict[str, str] = {}
    for each in results:
        versions |= each.versions
    named = sorted(versions.items(), key=lambda item: item[0].lower())
    return f"Versions: {', '.join(f'{name} {version}' for name, version in named)}."


if __name__ == "__main__":
    sys.exit(main())
