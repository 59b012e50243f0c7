"""Whether the checker follows the training loops that a list names.

A report says which roots are unknown, and not which code was understood. So the question is put to
the checker itself: in a copy of the repository the calls that clear gradients are taken out of the
function. If that fault is found, the function is followed; if it is found with `--possible` alone,
it is followed, with doubts. A function that is one turn of a loop elsewhere may leave the clears to
that loop, so to take them out need not be a fault: there, a clear is put in front of each step
instead, and the gradients that it drops have to be found. If none of this is, the function is
unknown, or, worse, passed over in silence.

The list is tab-separated, with a head: `repo`, `path`, `function` (`Trainer.fit`; empty: the
script itself), and, where they differ, `clears` (`path:function` that has the clears) and `roots`
(other files to check, with commas: those that call it).
"""

from __future__ import annotations

import ast
import csv
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from benchmarks.public_code.checkouts import Checked, check_one, name_of, repositories, verified

FOLLOWED = "followed"
DOUBTED = "followed, with doubts"
UNKNOWN = "unknown"
SILENT = "not followed, and nothing is said"
FAULT = frozenset({"GL101", "GL102", "GL203", "GL604"})
"""What a missing clear can break."""
DROPS = frozenset({"GL201", "GL202", "GL501"})
"""What a clear in front of a step can break."""


@dataclass(frozen=True)
class Loop:
    """A function that trains, in a repository."""

    repository: str
    path: str
    function: str
    clears: tuple[str, str]
    """The file and the function whose calls clear its gradients."""
    roots: tuple[str, ...]


@dataclass(frozen=True)
class State:
    """Whether it is followed, why not, and what is found in its file as it is."""

    loop: Loop
    commit: str
    state: str
    why: str
    findings: tuple[str, ...]


def read(path: Path) -> list[Loop]:
    """The loops of a list."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return [_loop(row) for row in csv.DictReader(lines, delimiter="\t", restval="")]


def _loop(row: dict[str, str]) -> Loop:
    where = row.get("clears") or f"{row['path']}:{row['function']}"
    path, _, function = where.partition(":")
    roots = tuple(filter(None, row.get("roots", "").split(",")))
    return Loop(row["repo"], row["path"], row["function"], (path, function), roots)


def states(
    tree: Path, folder: Path, loops: list[Loop], *, jobs: int | None = None
) -> Iterator[State]:
    """The state of each loop, in their order."""
    folders = {name_of(path): path for path in reversed(repositories(folder))}
    with ThreadPoolExecutor(jobs) as pool:
        yield from pool.map(partial(_state, verified(tree), folders), loops)


def _state(tree: Path, folders: dict[str, Path], loop: Loop) -> State:
    folder = folders.get(loop.repository)
    if folder is None:
        return State(loop, "", "not here", "the repository is not in the folder", ())
    commit = folder / "COMMIT"
    at = commit.read_text(encoding="utf-8").strip() if commit.is_file() else ""
    paths = tuple(dict.fromkeys([loop.path, *loop.roots]))
    if missing := [path for path in {*paths, loop.clears[0]} if not (folder / path).is_file()]:
        return State(loop, at, "not here", f"there is no {missing[0]}", ())
    check = partial(check_one, tree, paths=paths)
    plain = check(folder)
    with tempfile.TemporaryDirectory() as copy:
        planted = Path(copy, folder.name)
        shutil.copytree(folder, planted, symlinks=True)
        changed = planted / loop.clears[0]
        try:
            as_it_is = changed.read_text(encoding="utf-8")
            taken_out = plant(changed, loop.clears[1])
        except (LookupError, SyntaxError) as problem:
            return State(loop, at, "not here", f"{loop.clears[0]}: {problem}", ())
        if not taken_out:
            why = f"nothing clears gradients in {':'.join(loop.clears)}"
            return State(loop, at, "not asked", why, ())
        faulty = check(planted)
        state = FOLLOWED
        if not _finds(plain, faulty, FAULT):
            unsure = partial(check, possible=True)
            before = unsure(folder)
            state = DOUBTED if _finds(before, unsure(planted), FAULT) else ""
            changed.write_text(as_it_is, encoding="utf-8")
            if not state and plant_clears(changed, loop.clears[1]):
                if _finds(plain, check(planted), DROPS):
                    state = FOLLOWED
                elif _finds(before, unsure(planted), DROPS):
                    state = DOUBTED
    state, why = _judged(state, plain, faulty, _reasons(plain, loop))
    return State(loop, at, state, why, tuple(map(str, plain.findings)))


def _finds(plain: Checked, faulty: Checked, fault: frozenset[str]) -> bool:
    """Whether the fault that was planted is found."""
    before = {(found.rule, found.place) for found in plain.findings}
    return any(
        found.rule in fault and (found.rule, found.place) not in before for found in faulty.findings
    )


def _judged(state: str, plain: Checked, faulty: Checked, reasons: str) -> tuple[str, str]:
    if failure := plain.failure or faulty.failure:
        return UNKNOWN, failure
    if state:
        return state, f"in part: {reasons}" if reasons else ""
    return (UNKNOWN, reasons) if reasons else (SILENT, "")


def _reasons(checked: Checked, loop: Loop) -> str:
    """Why roots of its class, or of its file if it has none, are unknown."""
    owner = loop.function.rpartition(".")[0]
    reasons = [
        f"{each.what}: {each.why}"
        for each in checked.unknown
        if each.place.path in (loop.path, *loop.roots)
        and (not owner or each.place.path in loop.roots or each.what.startswith(f"{owner}."))
    ]
    return "; ".join(reasons)


def plant(path: Path, function: str) -> int:
    """Takes the calls of `zero_grad` out of the function, and says how many these were."""
    text = path.read_text(encoding="utf-8")
    calls = _statements(ast.parse(text), function, _clears)
    _replace(path, text, [(call, "pass") for call in calls])
    return len(calls)


def plant_clears(path: Path, function: str) -> int:
    """Puts a clear in front of each step of what the function clears, and says how many."""
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    owners = {
        ast.unparse(call.value.func.value): ast.unparse(call.value)
        for call in _statements(tree, function, _clears)
        if isinstance(call.value, ast.Call) and isinstance(call.value.func, ast.Attribute)
    }
    steps = [
        (step, f"{owners[owner]}; {ast.unparse(step)}")
        for step in _statements(tree, function, lambda node: _stepped(node) in owners)
        if (owner := _stepped(step.value)) is not None
    ]
    _replace(path, text, steps)
    return len(steps)


def _statements(tree: ast.AST, function: str, is_it: Callable[[ast.expr], bool]) -> list[ast.Expr]:
    """The statements of a function that are such calls."""
    inside = ast.walk(_function(tree, function))
    return [each for each in inside if isinstance(each, ast.Expr) and is_it(each.value)]


def _replace(path: Path, text: str, changes: list[tuple[ast.Expr, str]]) -> None:
    """Writes other statements in place of some, each on the line where the old one began."""
    lines = text.splitlines(keepends=True)
    for call, instead in changes:
        assert call.end_lineno is not None
        first = lines[call.lineno - 1].encode()[: call.col_offset].decode()
        rest = lines[call.end_lineno - 1].encode()[call.end_col_offset :].decode()
        lines[call.lineno - 1 : call.end_lineno] = [
            *["\n"] * (call.end_lineno - call.lineno),
            f"{first}{instead}{rest}",
        ]
    path.write_text("".join(lines), encoding="utf-8")


def _stepped(node: ast.expr) -> str | None:
    """What a call steps: `optimizer` of `optimizer.step()` and of `scaler.step(optimizer)`."""
    match node:
        case ast.Call(func=ast.Attribute(value=owner, attr="step"), args=args):
            scaled = bool(args) and "scaler" in ast.unparse(owner).lower()
            return ast.unparse(args[0] if scaled else owner)
    return None


def _clears(node: ast.expr) -> bool:
    if not isinstance(node, ast.Call):
        return False
    called = node.func
    name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
    return name.endswith("zero_grad")


def _function(tree: ast.AST, name: str) -> ast.AST:
    """The function or class of that qualified name; the module for an empty one."""
    for part in filter(None, name.split(".")):
        inner = (
            node
            for node in ast.walk(tree)
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
            and node.name == part
        )
        found = next(inner, None)
        if found is None:
            raise LookupError(f"there is no {part} in it: {name!r} names no function")
        tree = found
    return tree


HEAD = "| repository | commit | function | state | why | findings |"


def told(states: Iterable[State]) -> Iterator[str]:
    """A table in Markdown, and how many there are of each state."""
    yield HEAD
    yield "| --- | --- | --- | --- | --- | --- |"
    sums: Counter[str] = Counter()
    for each in states:
        loop = each.loop
        sums[each.state] += 1
        yield (
            f"| {loop.repository} | `{each.commit[:10]}` | `{loop.path}` "
            f"`{loop.function or 'the script'}` | {each.state} | {each.why} | "
            f"{len(each.findings)} |"
        )
    yield ""
    yield "In all: " + ", ".join(f"{state} {number}" for state, number in sums.most_common()) + "."


def write_page(path: Path, lines: Iterable[str]) -> None:
    """Puts the table into a page, behind the words that stand in front of the old one."""
    words = path.read_text(encoding="utf-8").partition(HEAD)[0]
    path.write_text(words + "\n".join(lines) + "\n", encoding="utf-8")
