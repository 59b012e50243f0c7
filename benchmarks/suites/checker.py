"""What `gradledger check` finds and how long it takes, next to TorchFix, dslinter and ruff."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from benchmarks.linting import GRADLEDGER, LINTERS, Linter, run
from benchmarks.measure import compare
from benchmarks.peers import DSLINTER, ROOT, RUFF, TORCHFIX
from benchmarks.public_code import labelled_places
from benchmarks.results import Cell, Ratios, Results, Row, Table, Verdicts, versions
from benchmarks.said import Everything, Said, sums, verdicts
from benchmarks.suites.startup import children_cpu
from gradledger.rules import CATALOGUE, Rule, Severity
from gradledger.rules.programs import FOLDER, bad, good

TITLE = "What the checker finds, and how long it takes"
ABOUT = """\
TorchFix with the rules that it has on by default, dslinter's rule for a missing `zero_grad` (a \
plugin of pylint's), and ruff with `E9,F821`: it has no rule about training, and is here for its \
speed. Every rule of ours that can be seen in the source has a bad program and a good one, which \
differ in the cure alone."""

WORDS = """\
"found": something is said of the bad program that is not said of the good one, or, of gradledger, \
the rule is named at the marked line. "false": so many things are said of the good one."""

RULES = [rule for rule in CATALOGUE if rule.seen_by.by_check]
TRAPS = ROOT / "tests" / "runtime" / "traps"
INFOS = {rule.code for rule in CATALOGUE if rule.severity is Severity.INFO}
NO_COMPLAINT = """\
An info of ours is no complaint: some of these programs do compute gradients that nobody uses \
(GL204), and are right."""
PEERS = (TORCHFIX, DSLINTER, RUFF)
RUFF_ONLY = "ruff check --select E9,F821 --no-cache"
ENOUGH = 5_000
"""Python files that a tree needs to be called large."""

SMALL = """\
import torch

model = torch.nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in data:
    loss = torch.nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


def results(quick: bool) -> Results:
    """Of the tree, that of the installed packages."""
    said = everything()
    with tempfile.TemporaryDirectory() as folder:
        # Not where there is a pyproject.toml above; and the cache beside it is new.
        work = Path(folder, "work")
        work.mkdir()
        tables: dict[str, Table] = {
            "found": sums("Rule examples in the source, in all", said, WORDS),
            "rules": verdicts("Rule examples in the source", RULES, said),
            **({} if quick else {"traps": traps(), "public": labelled_places.table()}),
            "large_tree": large_tree(_installed(), work, rounds=2 if quick else 5),
            "package": package(_installed() / "torch" / "optim", work, quick),
            "small_file": small_file(work, rounds=5 if quick else 15),
        }
    packages = versions(["gradledger", "ruff"])
    peers = {peer.name: peer.version for peer in PEERS if peer.version}
    return Results("checker", TITLE, ABOUT, tables, quick, versions=packages | peers)


def everything() -> Everything:
    """What each tool says of the programs of each rule."""
    return {linter.name: _said(linter) for linter in LINTERS}


def _said(linter: Linter) -> dict[str, Said | str]:
    if why := linter.why_not():
        return {rule.code: why for rule in RULES}
    programs = [program(rule).path for rule in RULES for program in (bad, good)]
    told: dict[str, set[str]] = {path.name: set() for path in programs}
    for found in linter.findings(programs, FOLDER):
        place = f"{found.rule} in line {found.line}" if linter.peer is None else found.rule
        told[found.path].add(place)
    return {rule.code: _of(linter, rule, told) for rule in RULES}


def _of(linter: Linter, rule: Rule, told: dict[str, set[str]]) -> Said:
    marked = {f"{rule.code} in line {line}" for line in bad(rule).marks}
    ours = marked if linter.peer is None else ()
    return Said.of(told[bad(rule).path.name], told[good(rule).path.name], ours)


def traps() -> Verdicts:
    """Programs that are right and look wrong, which the tests have for the checker."""
    programs = sorted(TRAPS.glob("*.py"))
    cells = {linter.name: _complaints(linter, programs) for linter in LINTERS}
    title = f"{len(programs)} correct programs that look wrong (tests/runtime/traps)"
    cases = {"false": "programs complained of"}
    return Verdicts(title, list(cells), cases, {"false": cells}, NO_COMPLAINT)


def _complaints(linter: Linter, programs: list[Path]) -> Cell:
    if why := linter.why_not():
        return Cell("not measured", None, how=why)
    said = [found for found in linter.findings(programs, TRAPS) if found.rule not in INFOS]
    named = {found.path for found in said}
    rules = ", ".join(sorted({found.rule for found in said}))
    return Cell(f"{len(named)} of {len(programs)}", not named, len(named), rules)


def large_tree(tree: Path, work: Path, rounds: int) -> Ratios:
    """Torch, transformers and what they need. TorchFix would take an hour: it is left out."""
    files = sum(1 for path in tree.rglob("*.py") if path.is_file())
    first, second = "gradledger check --no-cache", "gradledger check, the second time"
    cached = [word for word in GRADLEDGER if word != "--no-cache"]
    return compare(
        f"A tree of {files:,} Python files, wall time",
        {
            RUFF_ONLY: _running([*_ruff(), str(tree)], work),
            first: _running([*GRADLEDGER, str(tree)], work),
            second: _running([*cached, str(tree)], work),
        },
        clock=time.perf_counter,
        rounds=rounds,
        goals={first: 1.5, second: 0.3},
        note="" if files >= ENOUGH else f"Fewer than {ENOUGH:,} files: not a fair tree.",
    )


def package(tree: Path, work: Path, quick: bool) -> Ratios:
    """All tools, on as much as the slowest can read in a minute."""
    files = sorted(str(path) for path in tree.rglob("*.py"))
    title = f"One package of {len(files)} files, wall time"
    ways = {RUFF_ONLY: _running([*_ruff(), *files], work)}
    missing = []
    for linter in LINTERS:
        why = "not measured in a quick run" if quick and linter.peer else linter.why_not()
        if linter.name == "ruff":
            continue
        if why:
            missing.append(Row.missing(linter.name, why))
        else:
            ways[linter.name] = _running([*linter.words(), *files], work)
    table = compare(title, ways, clock=time.perf_counter, rounds=2)
    slow = [linter.name for linter in LINTERS if linter.peer and linter.name in ways]
    return Ratios(title, [*table.rows, *missing], peers=slow)


def small_file(work: Path, rounds: int) -> Ratios:
    """What it takes to start: the file has ten lines."""
    (work / "small.py").write_text(SMALL, encoding="utf-8")
    here = [linter for linter in LINTERS if linter.peer and not linter.why_not()]
    python, *_ = GRADLEDGER
    check = [python, "-m", "gradledger", "check"]  # as people call it
    table = compare(
        "One small file, CPU time",
        {
            "python -c pass": _running([python, "-c", "pass"], work),
            "python -c pass, again (the noise)": _running([python, "-c", "pass"], work),
            "gradledger check": _running([*check, "small.py"], work),
            **{each.name: _running([*each.words(), "small.py"], work) for each in here},
        },
        clock=children_cpu,
        rounds=rounds,
        goals={"gradledger check": 4.0},
        peers=[each.name for each in here if each.peer is not RUFF],
    )
    missing = [Row.missing(each.name, each.why_not()) for each in LINTERS if each.why_not()]
    return Ratios(table.title, [*table.rows, *missing], peers=table.peers)


def _running(command: list[str], folder: Path) -> Callable[[], object]:
    return partial(run, command, folder, caches=folder.resolve().parent / "cache")


def _ruff() -> list[str]:
    ruff = next(linter for linter in LINTERS if linter.name == "ruff")
    return [*ruff.words(), "--quiet"]


def _installed() -> Path:
    """The packages beside us."""
    import rich

    return Path(rich.__file__).parent.parent
