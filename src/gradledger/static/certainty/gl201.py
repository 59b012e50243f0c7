"""GL201: what a clear drops was not spent, if nobody else could have spent it, or meant to look."""

from __future__ import annotations

from itertools import dropwhile

from gradledger.ledger.events import Backward, Batch, Clear, Schedule, Step
from gradledger.ledger.findings import Finding
from gradledger.ledger.places import Place
from gradledger.static.certainty.sight import Sight, stepping
from gradledger.static.ir.blocks import events_in, pieces
from gradledger.static.ir.program import Do, Loop, Program, Sequence, Tick
from gradledger.static.lower.spelling import called_name, last_name
from gradledger.static.source import syntax as ast
from gradledger.static.source.patterns import Pattern

MEASURES = Pattern(
    r"perf_counter|time\.time\(|cuda\.Event|memory_allocated|benchmark|[pP]rofile|timeit"
)
"""Words of code that computes gradients to see how long that takes."""

EPOCHS = Pattern(r"(?i)epoch")
"""Without them, it is no training: somebody tries how large a batch may be, or whether it runs.

Told by words, because nothing else tells: who tries goes round in the same loops."""

LEAVES_ALONE = Pattern(
    r"(LR|Parallel|DDP)$|^(prepare|compile|print|len|id|type|isinstance|save|next|range)$|[sS]chedule"
)
"""Who is handed a model or an optimizer, and neither steps nor looks at gradients."""


def surely_dropped(finding: Finding, sight: Sight) -> bool:
    """Does the clear come before the step, or is there one step alone that it could be for?

    Where nobody steps at all, nobody in the file may do so out of sight either.
    """
    around = sight.around(finding.at)
    if drops_all_but_the_last(finding.at, sight.program):
        return sight.tells_apart(finding.cells) and not _somebody_else_steps(sight, around)
    if sight.nobody_steps:
        return all(isinstance(a, Loop) for a in around) and not _may_be_used(sight)
    if any(clear == finding.at for clear, _ in sight.cleared_before_step):
        return True
    if not sight.tells_apart(finding.cells) or _somebody_else_steps(sight, around):
        return False
    if any(_comes_between(finding.at, loop) for loop in around):
        return True
    if any(len(stepping(loop)) != 1 for loop in around):
        return False
    return sight.all_known or any(map(_has_windows, around))


def drops_all_but_the_last(at: Place, program: Program) -> bool:
    """Does one step follow a loop, each round of which clears what the round before deposited?

    Code that searches, retries or measures does more in the loop, leaves it early, or clears once
    more after it.
    """
    parts = program.parts if isinstance(program, Sequence) else ()
    return any(
        isinstance(part, Loop) and _only_clears_and_deposits(at, part) and _is_spent(parts[place:])
        for place, part in enumerate(parts)
    ) or any(drops_all_but_the_last(at, piece) for piece in program.inner)


def _only_clears_and_deposits(at: Place, loop: Loop) -> bool:
    """Are there at least two rounds, and does each clear here, deposit, and do nothing else?"""
    body = loop.body.parts if isinstance(loop.body, Sequence) else ()
    events = [part.event for part in body if isinstance(part, Do)]
    happening = [event for event in events if not isinstance(event, Batch)]
    if loop.at_least < 2 or len(events) < len(body) or len(happening) < 2:
        return False
    first, *rest = happening
    clears = isinstance(first, Clear) and first.at == at
    return clears and all(isinstance(event, Backward) for event in rest)


def _is_spent(parts: tuple[Program, ...]) -> bool:
    """Does a step follow the first of these, before anything else is cleared or deposited?"""
    for part in parts[1:]:
        if not isinstance(part, Do) or isinstance(part.event, Clear | Backward):
            return False
        if isinstance(part.event, Step):
            return True
    return False


def _somebody_else_steps(sight: Sight, around: list[Program]) -> bool:
    """Is there a step among these lines that was not followed: `pick("one").step()`?"""
    module, events = sight.root.module, [e for loop in around for e in events_in(loop)]
    if module is None:
        return False
    lines = [e.at.line for e in events if e.at.path == module.path]
    followed = {e.at.line for e in events if isinstance(e, Step | Schedule)}
    return any(
        node.lineno in range(min(lines), max(lines) + 1) and node.lineno not in followed
        for node in (ast.walk(module.tree) if lines else ())
        if isinstance(node, ast.Call) and _may_step(node)
    )


def _may_step(call: ast.Call) -> bool:
    """`x.step()`, `scaler.step(x)`: by its form, is it no environment's, and no schedule's?"""
    if not isinstance(call.func, ast.Attribute) or call.func.attr != "step":
        return False
    owner = last_name(call.func.value).lower()
    return "scaler" in owner or not (call.args or call.keywords or "sched" in owner)


def _comes_between(at: Place, around: Program) -> bool:
    """Is it after a backward and before a step, in the order of the text?"""
    following = dropwhile(lambda event: not isinstance(event, Backward), events_in(around))
    following = dropwhile(lambda event: event.at != at, following)
    return any(isinstance(event, Step) for event in following)


def _has_windows(around: Program) -> bool:
    """Does a counter close windows in it?"""
    return any(isinstance(piece, Tick) for piece in pieces(around))


def _may_be_used(sight: Sight) -> bool:
    """May anything in the file step, look at gradients, or hand them to somebody out of sight?"""
    module, optimizers = sight.root.module, sight.root.optimizers.values()
    if module is None or module.says_anywhere(MEASURES) or not module.says_anywhere(EPOCHS):
        return True
    keys = {key for optimizer in optimizers for key in optimizer.keys or ()}
    held = {key.rpartition(":")[2] for key in keys} | {o.name for o in optimizers}
    return any(_may_use(node, held) for node in ast.walk(module.tree))


def _may_use(node: ast.AST, held: set[str]) -> bool:
    match node:
        case ast.Attribute(value=owner, attr="grad" | "_grad"):
            return not ast.unparse(owner).endswith("autograd")
        case ast.Call(func=ast.Attribute(value=owner, attr="step")):
            return "sched" not in ast.unparse(owner).lower()
        case ast.Call(func=func, args=args, keywords=named):
            if "hook" in called_name(func):
                return True
            given = [ast.unparse(a) for a in (*args, *(k.value for k in named))]
            return not held.isdisjoint(given) and not LEAVES_ALONE.search(called_name(func))
        case ast.Return(value=ast.expr() as value) | ast.Yield(value=ast.expr() as value):
            return any(isinstance(n, ast.Name) and n.id in held for n in ast.walk(value))
    return False
