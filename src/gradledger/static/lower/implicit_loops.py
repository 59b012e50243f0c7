"""Functions of which each call is one turn of a training loop that is out of sight.

`agent.update()` deposits and steps once, in no loop of its own: whoever calls it, calls it again.
What the next call finds is seen by going round it, and round all turns of a class in any order.
What a caller does in between nobody knows, so little is judged by that. What is computed for
nothing: to use it, a caller would have to step on it himself. And what one optimizer spends again
where another one is cleared, or where its class makes it and its file never clears: who clears the
one himself, means to clear the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import reduce

from gradledger.ledger.places import Place
from gradledger.ledger.values import replace
from gradledger.static.ir.blocks import conditions_in, events_in, sequence
from gradledger.static.ir.effects import Clears, Deposits, Spends
from gradledger.static.ir.program import Branch, Do, Forget, Loop, Program
from gradledger.static.lower.root import OF_CELLS, OF_SCALERS, Root
from gradledger.static.lower.spelling import last_name
from gradledger.static.project.module import Module
from gradledger.static.source import syntax as ast
from gradledger.static.source.patterns import Pattern

OF_ONE_CALL = Pattern(r"(?<!__init__)#\d+:")
"""A name that a function has for itself, in a condition: `update#2:step % 2`."""

TRAIN_NOTHING = frozenset({"object", "Module", "ABC"})
"""Bases from elsewhere that neither step nor clear."""

CLEARING = Pattern(r"zero_grad|\.grad\b|GradScaler", words=("zero_grad", ".grad", "GradScaler"))
"""Words of files that clear gradients, or look at them, in whatever way."""


UPDATES = Pattern(r"\.update\b", words=(".update",))
"""Words of files that may update a scaler."""

MAKES_SCALER = Pattern(r"GradScaler\(", words=("GradScaler(",))


def taken_again(roots: Iterable[Root]) -> Iterator[tuple[Root, tuple[str, ...]]]:
    """Each root that is a turn, called again and again; and the turns of a class, in any order.

    And what can be judged of it.
    """
    of_class: dict[str, list[Root]] = {}
    for root in roots:
        if root.program is None or not _is_a_turn(root):
            continue
        of_class.setdefault(root.of_class or root.what, []).append(root)
    for turns in of_class.values():
        together = [_again(turns)] if len(turns) > 1 else []
        for root in (*(_again([turn]) for turn in turns), *together):
            judged = tuple(_judged(root))
            if judged:
                yield root, judged


def deposited_once(program: Program) -> Iterator[Place]:
    """Where each call makes one deposit, in no loop but in that of its caller."""
    if isinstance(program, Do):
        if isinstance(program.event, Deposits):
            yield program.event.at
        return
    for piece in program.inner if not isinstance(program, Loop) else ():
        yield from deposited_once(piece)


def _is_a_turn(root: Root) -> bool:
    """Does it deposit in no loop, for optimizers that others have made?"""
    assert root.program is not None
    if not any(deposited_once(root.program)):
        return False
    stepping = {e.optimizer for e in events_in(root.program) if isinstance(e, Spends)}
    return all(o.outside for name, o in root.optimizers.items() if name in stepping)


def _judged(root: Root) -> Iterator[str]:
    """Cells, if several optimizers step and one is cleared, or if nobody ever clears any.

    Scalers, if their class has them, and nobody in its file ever updates one.
    """
    assert root.program is not None
    events = list(events_in(root.program))
    steps = [e for e in events if isinstance(e, Spends)]
    stepping = {e.optimizer for e in steps}
    module = root.module
    if module is None or not steps:
        return
    if any(isinstance(e, Clears) for e in events):
        if len(stepping) > 1:
            yield OF_CELLS
    elif not module.says_anywhere(CLEARING):
        made = all(o.torchs and o.keys for name, o in root.optimizers.items() if name in stepping)
        if made and _is_all_here(module, root.of_class):
            yield OF_CELLS
    scaled = any(e.scaler for e in steps) and module.says_anywhere(MAKES_SCALER)
    if scaled and not module.says_anywhere(UPDATES) and _is_all_here(module, root.of_class):
        yield OF_SCALERS


def _is_all_here(module: Module, name: str) -> bool:
    """Are the class and its bases in the file, but for those that train nothing?"""
    cls = module.definitions.get(name)
    if not isinstance(cls, ast.ClassDef):
        return False
    bases = [last_name(base) for base in cls.bases]
    return all(
        base in TRAIN_NOTHING or _is_all_here(module, base) for base in bases if base != name
    )


def _again(turns: list[Root]) -> Root:
    """The turns, in any order and as often as anybody likes."""
    programs = [turn.program for turn in turns if turn.program is not None]
    one_of_them = reduce(lambda chosen, other: Branch(other, chosen, None), programs)
    # What a call is given may be another thing in the next one.
    asked = sorted(c for c in conditions_in(one_of_them) if OF_ONE_CALL.search(c))
    first = turns[0]
    names: dict[str, set[str]] = {}
    for turn in turns:
        for name, texts in turn.condition_names.items():
            names[name] = names.get(name, set()) | texts
    return replace(
        first,
        program=Loop(sequence([*map(Forget, asked), one_of_them])),
        optimizers={n: o for turn in turns for n, o in turn.optimizers.items()},
        condition_names=names,
        notes=frozenset().union(*(turn.notes for turn in turns)),
        turns=tuple(turns),
    )
