"""What a benchmark has to say: tables of ratios, tables of verdicts and curves, kept as JSON."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any, ClassVar

PUBLISHED = Path(__file__).parent / "results"


@dataclass(frozen=True)
class Row:
    """One candidate against the first of its table, which is the baseline.

    `low` and `high` are the quartiles of the ratio. Where there was nothing to measure, `why` says
    so and the numbers are None. `seconds` are bytes in a table whose unit that is.
    """

    name: str
    seconds: float | None
    ratio: float | None
    low: float | None
    high: float | None
    goal: float | None = None
    why: str = ""

    @classmethod
    def missing(cls, name: str, why: str) -> Row:
        return cls(name, None, None, None, None, why=why)

    def line(self, unit: str) -> str:
        if self.seconds is None or self.ratio is None or self.low is None or self.high is None:
            return f"  {self.name:<46} {self.why}"
        spread = f"{self.low:.2f} to {self.high:.2f}"
        amount = amount_of(self.seconds, unit)
        line = f"  {self.name:<46} {amount:>10}  x{self.ratio:<6.2f} ({spread})"
        return line if self.goal is None else f"{line}  goal <= {self.goal:.2f}"


@dataclass(frozen=True)
class Ratios:
    """Candidates that took turns; the first one is the baseline.

    `peers` are those that do the same job as ours, and are to be beaten. `unit` is "s" or "bytes".
    """

    title: str
    rows: list[Row]
    note: str = ""
    peers: list[str] = field(default_factory=list)
    unit: str = "s"
    kind: ClassVar[str] = "ratios"

    def __getitem__(self, name: str) -> Row:
        return next(row for row in self.rows if row.name == name)

    def __str__(self) -> str:
        lines = [row.line(self.unit) for row in self.rows]
        return "\n".join([self.title, *lines, *([self.note] if self.note else [])])


@dataclass(frozen=True)
class Cell:
    """What was measured of one candidate in one case.

    `verdict` is a word or two for the table ("holds", "39 % off", "3 of 33", "can't be installed");
    `good` whether that is what one would want, None where it is neither. `value` is the number
    behind it, `how` says in a sentence what was done.
    """

    verdict: str
    good: bool | None
    value: float | None = None
    how: str = ""


@dataclass(frozen=True)
class Verdicts:
    """Cases down, candidates across. `cells[case][candidate]`; `cases` says what each case is."""

    title: str
    candidates: list[str]
    cases: dict[str, str]
    cells: dict[str, dict[str, Cell]]
    note: str = ""
    kind: ClassVar[str] = "verdicts"

    def __str__(self) -> str:
        lines = [self.title]
        for case, meaning in self.cases.items():
            lines.append(f"  {case}: {meaning}")
            cells = self.cells[case]
            lines += [f"    {name:<44} {cells[name].verdict}" for name in self.candidates]
        return "\n".join([*lines, *([self.note] if self.note else [])])


@dataclass(frozen=True)
class Growth:
    """How something grows: a value of each candidate for every x, None where it was left out.

    `y_label` names the unit. The slope is that of a line through the points in a log-log plot:
    1 means that twice the x costs twice as much, 0 that it costs the same.
    """

    title: str
    x_label: str
    y_label: str
    x: list[float]
    series: dict[str, list[float | None]]
    slopes: dict[str, float]
    note: str = ""
    kind: ClassVar[str] = "growth"

    def __str__(self) -> str:
        wide = 2 + max(map(len, self.series))
        head = f"  {self.x_label:<26}" + "".join(f"{name:>{wide}}" for name in self.series)
        lines = [f"{self.title} ({self.y_label})", head]
        for i, x in enumerate(self.x):
            values = (ys[i] for ys in self.series.values())
            shown = ("-" if y is None else f"{y:.4g}" for y in values)
            lines.append(f"  {x:<26,.10g}" + "".join(f"{y:>{wide}}" for y in shown))
        slopes = "".join(f"{self.slopes[name]:>{wide}.2f}" for name in self.series)
        lines.append(f"  {'slope':<26}" + slopes)
        return "\n".join([*lines, *([self.note] if self.note else [])])


Table = Ratios | Verdicts | Growth
TABLES: dict[str, type[Ratios] | type[Verdicts] | type[Growth]] = {
    table.kind: table for table in (Ratios, Verdicts, Growth)
}


@dataclass(frozen=True)
class Results:
    """All that one benchmark measured, with the machine and the versions that it ran on."""

    name: str
    title: str
    about: str
    """A paragraph: what is compared with what, and how."""

    tables: dict[str, Table]
    """By a short name that does not change, so that a sentence elsewhere can quote a number."""

    quick: bool
    machine: dict[str, str] = field(default_factory=lambda: machine())
    versions: dict[str, str] = field(default_factory=dict)

    def write(self, folder: Path = PUBLISHED) -> Path:
        tables = {key: {"kind": t.kind} | asdict(t) for key, t in self.tables.items()}
        path = folder / f"{self.name}.json"
        folder.mkdir(parents=True, exist_ok=True)
        text = json.dumps(vars(self) | {"tables": tables}, indent=1, ensure_ascii=False)
        path.write_text(text + "\n", encoding="utf-8")
        return path

    @classmethod
    def read(cls, path: Path) -> Results:
        kept = json.loads(path.read_text(encoding="utf-8"))
        return cls(**kept | {"tables": {k: _table(t) for k, t in kept["tables"].items()}})


def _table(kept: dict[str, Any]) -> Table:
    kind = TABLES[kept.pop("kind")]
    if kind is Ratios:
        kept["rows"] = [Row(**row) for row in kept["rows"]]
    if kind is Verdicts:
        kept["cells"] = {
            case: {name: Cell(**cell) for name, cell in cells.items()}
            for case, cells in kept["cells"].items()
        }
    return kind(**kept)


def machine() -> dict[str, str]:
    return {
        "system": platform.system(),
        "processor": _processor(),
        "cores": str(os.cpu_count()),
        "python": platform.python_version(),
    }


def versions(packages: Iterable[str]) -> dict[str, str]:
    """Of those that are installed."""
    found = {each.metadata["Name"].lower(): each.version for each in metadata.distributions()}
    return {name: found[name.lower()] for name in packages if name.lower() in found}


def amount_of(amount: float, unit: str) -> str:
    return time_of(amount) if unit == "s" else size_of(amount)


def size_of(size: float) -> str:
    for unit, one in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if size >= one:
            return f"{size / one:.2f} {unit}"
    return f"{size:.0f} bytes"


def time_of(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.2f} {unit}"
    return f"{seconds * 1e9:.0f} ns"


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    for line in info.read_text(encoding="utf-8").splitlines() if info.exists() else ():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()
