"""Public repositories in which every finding of ours was read and judged by us.

They are not a part of the project: `GRADLEDGER_PUBLIC_CODE` names a folder that has them, each in a
folder of its own called owner+name. `findings.tsv` has the judgements, with the commits
where they are known, of the twenty-third reading that docs/public-code.md tells of: all that was
shown then, and what was seen to be missing in the same files.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from benchmarks.linting import LINTERS, Finding, Linter
from benchmarks.results import Cell, Verdicts

LABELS = Path(__file__).with_name("findings.tsv")
VARIABLE = "GRADLEDGER_PUBLIC_CODE"
NEAR = 30
"""So many lines from a labelled place, a peer's finding is about it, whatever it says."""

CASES = {
    "true": "faults that were read and found to be real",
    "false": "correct places that gradledger once took for faults",
    "elsewhere": "findings at places that nobody has judged",
}
NOTE = f"""\
The labels are our own judgements, and the checker was mended after they were made: how it does on \
code that it has not seen is told in public-code.md. Of gradledger, rule and line have to agree; a \
peer's finding counts whatever it says, if it is at most {NEAR} lines away. Peers read the files \
that have `backward(` in them; elsewhere there is nothing to find."""


@dataclass(frozen=True)
class Label:
    """A place, and whether there is a fault."""

    repository: str
    place: Finding
    label: str


def labels() -> list[Label]:
    """All that were judged true or false; what is arguable is left out."""
    with LABELS.open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file, delimiter="\t")
        return [_label(row) for row in rows if row["label"] != "arguable"]


def _label(row: Mapping[str, str]) -> Label:
    cell, _, line = row["line"].rpartition(":")
    place = Finding(row["path"], int(line), row["rule"], int(cell) if cell else None)
    return Label(row["repository"], place, row["label"])


def table() -> Verdicts:
    """How many labelled places each tool names, and how many others."""
    title, names = "Public repositories", [linter.name for linter in LINTERS]
    folder = os.environ.get(VARIABLE)
    if folder is None:
        why = f"{VARIABLE} names no folder with the repositories"
        cells = {
            case: {name: Cell("not measured", None, how=why) for name in names} for case in CASES
        }
        return Verdicts(title, names, CASES, cells, NOTE)
    return told(title, Path(folder), labels())


def told(title: str, folder: Path, known: list[Label]) -> Verdicts:
    """The same for some repositories and labels; those of repositories not there are left out."""
    here = sorted(path for path in folder.resolve().iterdir() if path.is_dir())
    there = {path.name for path in here}
    known = [label for label in known if label.repository.replace("/", "+") in there]
    cells: dict[str, dict[str, Cell]] = {case: {} for case in CASES}
    for linter in LINTERS:
        for case, cell in zip(CASES, _cells(linter, here, known), strict=True):
            cells[case][linter.name] = cell
    shown = f"{title}: {len(here)} of them, {len(known)} labelled places"
    return Verdicts(shown, [linter.name for linter in LINTERS], CASES, cells, NOTE)


def _cells(linter: Linter, here: list[Path], known: list[Label]) -> Iterator[Cell]:
    if why := linter.why_not():
        yield from [Cell("not measured", None, how=why)] * len(CASES)
        return
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        said = dict(zip(here, pool.map(partial(_findings, linter), here), strict=True))
    found = [(path.name.replace("+", "/", 1), each) for path in here for each in said[path]]
    exact = linter.peer is None
    for wanted in ("true", "false"):
        of_label = [label for label in known if label.label == wanted]
        named = sum(any(_about(label, *each, exact=exact) for each in found) for label in of_label)
        right = named == (len(of_label) if wanted == "true" else 0)
        yield Cell(f"{named} of {len(of_label)}", right, named)
    elsewhere = sum(not any(_about(label, *each, exact=exact) for label in known) for each in found)
    yield Cell(f"{elsewhere:,}", None, elsewhere)


def _findings(linter: Linter, repository: Path) -> list[Finding]:
    if linter.peer is None:
        return linter.findings(["."], repository)
    return linter.findings(list(training_files(repository)), repository)


def training_files(repository: Path) -> Iterable[Path]:
    """Those with a backward in them."""
    for path in sorted(repository.rglob("*.py")):
        if path.is_file() and b"backward(" in path.read_bytes():
            yield path.relative_to(repository)


def _about(label: Label, repository: str, found: Finding, *, exact: bool) -> bool:
    if repository != label.repository:
        return False
    if exact:
        return found == label.place
    place = label.place
    same = (found.path, found.cell) == (place.path, place.cell)
    return same and abs(found.line - place.line) <= NEAR
