"""Results as Markdown that a person likes to read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import compress, groupby

from benchmarks.results import Cell, Growth, Ratios, Results, Row, Table, Verdicts, amount_of

OURS = ("Stepper", "gradledger", "audit(")
NOISE = "(the noise)"
FLOOR = "forward and backward alone"
"""What every loop over the same data has to do. All that a Stepper can spare it is the door to
torch's engine, which is some of the backward of a tiny net, and nothing in a larger one."""
LONG, WIDE, FEW = 15, 5, 5
"""A table of more cases is folded away, and its sums are told above it. Of more candidates, it has
room for the names of its cases only. Of fewer cases, it needs no sums."""


def is_ours(name: str) -> bool:
    return any(word in name for word in OURS)


def section(results: Results, pictures: str) -> str:
    """All tables of one benchmark. `pictures` is the folder of its plots, from the page."""
    parts = [f"## {results.title}", results.about]
    for group in _groups(results.tables):
        (key, table), *more = group
        if more:
            parts += _matrix([each for _, each in group if isinstance(each, Ratios)])
        elif isinstance(table, Ratios):
            parts += _column(table)
        elif isinstance(table, Verdicts):
            parts += _verdicts(table)
        else:
            parts += _growth(table, f"{pictures}/{picture(results, key)}")
    return "\n\n".join(parts)


def picture(results: Results, key: str) -> str:
    """The name of a plot's file."""
    return f"{results.name}-{key.replace('.', '-')}.svg"


def ratio(value: float) -> str:
    """To be read: two decimals, or two digits of what is tiny, or none of what is large."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}" if value >= 0.095 else f"{value:.2g}"


def best(table: Ratios) -> Row | None:
    """Of ours and the peers, where there is a peer to compete with."""
    rows = [row for row in table.rows if row.ratio is not None]
    peers = [row for row in rows if row.name in table.peers]
    ours = [row for row in rows if is_ours(row.name)]
    return min(ours + peers, key=by_ratio) if ours and peers else None


def by_ratio(row: Row) -> float:
    """To sort by: what was not measured comes last."""
    return float("inf") if row.ratio is None else row.ratio


def _groups(tables: dict[str, Table]) -> Iterator[list[tuple[str, Table]]]:
    """Neighbours in which the same candidates took turns are told as one table."""

    def candidates(each: tuple[str, Table]) -> object:
        key, table = each
        if isinstance(table, Ratios):
            return table.unit, [row.name for row in table.rows]
        return key

    for _, group in groupby(tables.items(), candidates):
        yield list(group)


def _matrix(tables: Sequence[Ratios]) -> list[str]:
    """A row for each table; the first column has the time of the baseline, the others ratios."""
    first, *others = (row.name for row in tables[0].rows)
    lines = [["", first, *("noise" if NOISE in name else name for name in others)]]
    for table in tables:
        base, *rows = table.rows
        line = [table.title, "" if base.seconds is None else amount_of(base.seconds, table.unit)]
        lines.append([*line, *(_cell(row, bold=row == best(table)) for row in rows)])
    return [tabled(lines), *_notes(tables)]


def _column(table: Ratios) -> list[str]:
    """A row for each candidate."""
    what = "time" if table.unit == "s" else "size"
    lines = [[f"**{table.title}**", what, "ratio", "middle half", "goal"]]
    for row in table.rows:
        amount = "" if row.seconds is None else amount_of(row.seconds, table.unit)
        shown = _shown(row, bold=row == best(table))
        lines.append([row.name, amount, shown, _spread(row), _goal(row)])
    used = [any(line[i] for line in lines[1:]) for i in range(len(lines[0]))]
    return [tabled([list(compress(line, used)) for line in lines]), *_notes([table])]


def _cell(row: Row, *, bold: bool) -> str:
    goal = _goal(row)
    small = [_spread(row), f"goal {goal}" if goal else ""]
    parts = (_shown(row, bold=bold), *(f"<sub>{each}</sub>" for each in small if each))
    return "<br>".join(parts)


def _shown(row: Row, *, bold: bool) -> str:
    if row.ratio is None:
        return row.why
    return f"**{ratio(row.ratio)}**" if bold else ratio(row.ratio)


def _spread(row: Row) -> str:
    """Nothing where there is none, as with the baseline."""
    if row.low is None or row.high is None or row.low == row.high:
        return ""
    return f"{ratio(row.low)}\u2013{ratio(row.high)}"


def _goal(row: Row) -> str:
    if row.goal is None or row.ratio is None:
        return ""
    return ratio(row.goal) + (" missed" if row.ratio > row.goal else "")


def _verdicts(table: Verdicts) -> list[str]:
    names = {case: f"**{case}**: {text}" if text else case for case, text in table.cases.items()}
    parts = [f"**{table.title}**"]
    if len(table.candidates) > WIDE and any(table.cases.values()):
        parts.append("\n".join(f"- {name}" for name in names.values()))
        names = {case: f"**{case}**" for case in names}
    lines = [["", *table.candidates]]
    for case, name in names.items():
        cells = table.cells[case]
        lines.append([name, *(_verdict(cells[each]) for each in table.candidates)])
    sums = _sums(table) if len(table.cases) >= FEW else []
    if len(table.cases) > LONG and sums:
        parts += [tabled([lines[0], sums]), _folded("Case by case", tabled(lines))]
    else:
        parts.append(tabled([*lines, sums] if sums else lines))
    parts += _notes([table])
    told = [
        f"- {case}, {', '.join(names)}: {how}"
        for case in table.cases
        for how, names in _told(table, case).items()
    ]
    return [*parts, _folded("Behind each cell", "\n".join(told))] if told else parts


def _verdict(cell: Cell) -> str:
    return {True: "✓ ", False: "✗ ", None: ""}[cell.good] + cell.verdict


def _sums(table: Verdicts) -> list[str]:
    """How often each candidate does what one would want; nothing where nothing was judged."""
    judged = {
        name: [good for case in table.cases if (good := table.cells[case][name].good) is not None]
        for name in table.candidates
    }
    if not any(judged.values()):
        return []
    sums = [f"{sum(goods)} of {len(goods)}" if goods else "" for goods in judged.values()]
    return ["**together**", *sums]


def _told(table: Verdicts, case: str) -> dict[str, list[str]]:
    told: dict[str, list[str]] = {}
    for name in table.candidates:
        if how := table.cells[case][name].how:
            told.setdefault(how, []).append(name)
    return told


def _growth(table: Growth, path: str) -> list[str]:
    slopes = ", ".join(f"{name} {slope:.2f}" for name, slope in table.slopes.items())
    lines = [[table.x_label, *table.series]]
    for i, x in enumerate(table.x):
        values = (ys[i] for ys in table.series.values())
        lines.append([f"{x:,.10g}", *("" if y is None else f"{y:,.4g}" for y in values)])
    return [
        f"**{table.title}**. Slopes: {slopes}.",
        f"![{table.title}: {table.y_label}]({path})",
        *_notes([table]),
        _folded(f"The numbers, in {table.y_label}", tabled(lines)),
    ]


def _notes(tables: Iterable[Table]) -> list[str]:
    return list(dict.fromkeys(table.note for table in tables if table.note))


def _folded(summary: str, text: str) -> str:
    return f"<details><summary>{summary}</summary>\n\n{text}\n\n</details>"


def tabled(lines: Sequence[Sequence[str]]) -> str:
    """The first line is the head."""
    head, *rows = (f"| {' | '.join(map(_escaped, line))} |" for line in lines)
    return "\n".join([head, "|" + " --- |" * len(lines[0]), *rows])


def _escaped(text: str) -> str:
    """In one line, and in one cell."""
    return " ".join(text.replace("|", "\\|").split())
