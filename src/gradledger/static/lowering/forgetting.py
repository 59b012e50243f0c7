"""Questions whose answer nobody needs to remember."""

from __future__ import annotations

from collections import Counter

from gradledger.static.lowering.blocks import mapped, pieces, sequence
from gradledger.static.program import Branch, Forget, Loop, Program, Sequence


def independent(program: Program) -> Program:
    """The same program, where a question has no name that is asked once, and each time anew.

    To know its answer afterwards would tell two paths from each other that never part again.
    """
    asked = Counter(p.condition for p in pieces(program) if isinstance(p, Branch))
    once = frozenset(name for name, times in asked.items() if name and times == 1)
    return _without_names(program, once, frozenset())


def _without_names(program: Program, once: frozenset[str], fresh: frozenset[str]) -> Program:
    """`fresh`: what was forgotten, in this round of the innermost loop."""
    match program:
        case Sequence(parts):
            known: list[Program] = []
            for part in parts:
                if isinstance(part, Forget):
                    fresh |= {part.condition}
                known.append(_without_names(part, once, fresh))
            return sequence(known)
        case Branch(then, orelse, condition):
            return Branch(
                _without_names(then, once, fresh),
                _without_names(orelse, once, fresh),
                None if condition in once & fresh else condition,
            )
        case Loop():
            return mapped(program, lambda piece: _without_names(piece, once, frozenset()))
        case _:
            return mapped(program, lambda piece: _without_names(piece, once, fresh))
