"""One file rewritten to Stepper, checked before and after; or the reason why it isn't."""

from __future__ import annotations

from collections.abc import Iterator

from gradledger.ledger.tuples import NamedTuple
from gradledger.static.adopt.cycle import Cycle
from gradledger.static.adopt.kept import check_between, check_loss
from gradledger.static.adopt.loss import losses
from gradledger.static.adopt.names import is_made
from gradledger.static.adopt.options import Options, options
from gradledger.static.adopt.refusal import NotAdopted
from gradledger.static.adopt.rewriting import Rewriting
from gradledger.static.adopt.window import Window
from gradledger.static.check import followed_roots
from gradledger.static.fix.contents import Content
from gradledger.static.fix.edits import Edits
from gradledger.static.fix.script import Script, Statement
from gradledger.static.ir.blocks import holds
from gradledger.static.ir.effects import Clears, Deposits
from gradledger.static.project.project import Project
from gradledger.static.result import Checked
from gradledger.static.runner.one_file import check_data
from gradledger.static.source import syntax as ast

CURED = frozenset(
    {"GL101", "GL203", "GL301", "GL302", "GL401", "GL402", "GL403", "GL404", "GL405", "GL501"}
    | {"GL502", "GL503", "GL504", "GL902"}
)
"""What a Stepper does right by itself, whatever the loop has done."""


class Adopted(NamedTuple):
    """A file, before and after."""

    path: str
    before: bytes
    after: bytes
    line: int
    """Of the loop."""
    remarks: tuple[str, ...]
    """What is different now, one sentence each."""
    may_end_short: bool
    """The last window of a pass may be a short one, which then has another weight."""


def adopted(path: str, data: bytes, *, roots: tuple[str, ...] = ()) -> Adopted:
    """The file with its training loop rewritten. NotAdopted says why not."""
    if path.endswith(".ipynb"):
        raise NotAdopted("it is a notebook, and only Python files are rewritten")
    content = Content(path, data)
    cured = [f for f in _checked(path, data, roots).findings if f.certainty != "possible"]
    for finding in cured:
        if finding.rule not in CURED:
            raise NotAdopted(
                f"a Stepper wouldn't cure {finding.rule} on line {finding.at.line}: see "
                "`gradledger check`, and fix it first"
            )
    assert content.source is not None
    project = Project(roots)
    trained = [
        followed
        for followed in followed_roots(content.source, project)
        if followed.root.program is not None and holds(followed.root.program, Deposits)
    ]
    if not trained:
        uses = "gradledger" in content.source.text and "Stepper(" in content.source.text
        raise NotAdopted("it uses Stepper already" if uses else "no training loop was found in it")
    tree = project.module(content.source).tree  # type: ignore[union-attr]
    _check_names(tree)
    cycle = Cycle(trained, Script(content.source.text, tree), path)
    window = Window(cycle)
    edits, remarks = _planned(cycle, window)
    after = content.edited(edits)
    if after is None or after.script() is None:
        raise NotAdopted("its encoding, or the way its lines are joined, doesn't allow these edits")
    for finding in _checked(path, after.data, roots).findings:
        raise NotAdopted(f"there would be {finding.rule} on line {finding.at.line}")
    remarks += [f"cures {finding.rule} on line {finding.at.line}" for finding in cured]
    short = window.size is not None and not window.is_inner_loop
    return Adopted(path, data, after.data, cycle.loop.lineno, tuple(remarks), short)


def _check_names(tree: ast.Module) -> None:
    """The names that the edits bring in have to be free."""
    for node in ast.walk(tree):
        name = node.id if isinstance(node, ast.Name) else getattr(node, "name", None)
        if name in ("stepper", "Stepper"):
            raise NotAdopted(
                f"it uses the name {name} already, which the rewritten loop would need"
            )


def _checked(path: str, data: bytes, roots: tuple[str, ...]) -> Checked:
    """What the checker says, where it has followed all of it."""
    checked, troubles, *_ = check_data(path, data, Project(roots))
    for trouble in troubles:
        raise NotAdopted(f"it can't be read: {trouble.message}")
    for unknown in checked.unknown:
        raise NotAdopted(f"{unknown.what} on line {unknown.line} isn't followed: {unknown.why}")
    return checked


def _planned(cycle: Cycle, window: Window) -> tuple[Edits, list[str]]:
    _check_ranks(cycle)
    backwards = losses(cycle, window)
    made = options(cycle, window, backwards)
    taken = [*_taken(cycle), *made.replaced]
    divisions = [loss.where for loss in backwards if loss.where is not None]
    check_between(cycle, made, [*taken, *made.norms, *divisions])
    again = [loss for loss in backwards if check_loss(cycle, loss)]
    edits = Rewriting(cycle).edits(window, backwards, made, taken, again)
    return edits, [*made.remarks, *_remarks(cycle, window, made)]


def _check_ranks(cycle: Cycle) -> None:
    """A Stepper decides itself when ranks exchange gradients."""
    for node in ast.walk(cycle.scope):
        if isinstance(node, ast.Attribute) and node.attr in (
            "no_sync", "require_backward_grad_sync", "set_requires_gradient_sync",
        ):  # fmt: skip
            raise NotAdopted(
                f"line {node.lineno} says when ranks exchange gradients ({node.attr}), which a "
                "Stepper does by itself: remove that first"
            )


def _taken(cycle: Cycle) -> list[Statement]:
    """What a Stepper does instead."""
    return [
        cycle.spend.statement,
        *(site.statement for site in cycle.clears),
        *cycle.scaler_calls,
    ]


def _remarks(cycle: Cycle, window: Window, made: Options) -> Iterator[str]:
    """What the new loop does in another way."""
    if window.size is not None:
        size = ast.unparse(window.size)
        yield from _about_windows(cycle, window, size)
        yield from _about_exits(cycle)
    if "scaler" not in made.arguments:
        yield (
            "an update whose gradient isn't finite is skipped, with a warning "
            '(on_nonfinite="allow" turns this off)'
        )
    for site in cycle.clears:
        for met in site.met:
            if isinstance(met.event, Clears) and not met.event.to_none:
                yield (
                    f"line {site.line} set gradients to zero: a parameter that gets none in a "
                    "window is now left alone, without weight decay and momentum"
                )
                break
    name = getattr(cycle.scope, "name", "")
    if name and not is_made(cycle.script, cycle.scope, made.optimizer):
        yield (
            f"each call of {name}() makes a Stepper; to save and resume one, make it beside the "
            f"optimizer and pass it to {name}()"
        )


def _about_exits(cycle: Cycle) -> Iterator[str]:
    """What becomes of windows that are left before they are full."""
    for statement in cycle.script.within(cycle.loop):
        line = statement.node.lineno
        if statement.loop is not cycle.loop:
            continue
        if isinstance(statement.node, ast.Break):
            yield f"a window that the `break` on line {line} leaves open is spent by the next pass"
        elif isinstance(statement.node, ast.Continue):
            if isinstance(cycle.loop, ast.While):
                raise NotAdopted(f"the `continue` on line {line} may leave a micro-batch out")
            yield (
                f"a micro-batch that the `continue` on line {line} leaves out doesn't count in its "
                "window's mean"
            )


def _about_windows(cycle: Cycle, window: Window, size: str) -> Iterator[str]:
    if window.is_inner_loop:
        return
    if window.spends_rest:
        yield (
            f"the last window of a pass may be shorter: its losses were divided by {size} all the "
            "same, and are now divided by their number"
        )
    elif isinstance(cycle.loop, ast.For):
        yield (
            f"if a pass ends with fewer than {size} micro-batches, there is now an update with "
            "their mean; before, their gradients were left over"
        )
    yield (
        "micro-batches of a window have the same weight, as before: "
        "stepper.backward(loss, items=…) weighs them by their number of items"
    )
