"""What has to be known of frameworks that stand between the program and torch."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from typing import Any

from torch import Tensor

from gradledger.ledger.places import Place
from gradledger.ledger.values import replace
from gradledger.runtime import weights
from gradledger.runtime.backwards import Backwards
from gradledger.runtime.journal import Journal
from gradledger.runtime.loaders import Loaders
from gradledger.runtime.patches import Function, Patches


class Accelerate:
    """Its `backward` divides the loss by the size of the window; its loaders read ahead."""

    def __init__(self, journal: Journal, backwards: Backwards, loaders: Loaders) -> None:
        self.journal = journal
        self.backwards = backwards
        self.loaders = loaders
        self._watching = False

    def watch(self, patches: Patches) -> None:
        """Audit its programs until the patches are closed, from when it is imported."""
        self._patches = patches
        self.journal.imported.append(self.begin_if_needed)

    def begin_if_needed(self) -> None:
        """Is it there?"""
        accelerator = getattr(sys.modules.get("accelerate.accelerator"), "Accelerator", None)
        loaders = sys.modules.get("accelerate.data_loader")
        if self._watching or accelerator is None or loaders is None:
            return
        self._watching = True
        self._patches.around(accelerator, "backward", self._around_backward)
        for name in ("DataLoaderShard", "DataLoaderDispatcher"):
            loader = getattr(loaders, name, None)
            if loader is not None and "__iter__" in vars(loader):
                self.loaders.watch_loader(loader, self._patches)

    def _around_backward(self, real: Function) -> Function:
        def backward(accelerator: Any, loss: Tensor, **kwargs: Any) -> None:
            divides = accelerator.gradient_accumulation_steps > 1
            given = weights.read(loss) if divides and not self.journal.asleep else None
            if given is not None:
                divided_at = None
                if given.weight.divisor not in (None, 1):
                    divided_at = self._division(self.journal.places.here())
                weight = replace(given.weight, framework_divides=True, divided_at=divided_at)
                self.backwards.framework = lambda loss: replace(loss, weight=weight)
            try:
                real(accelerator, loss, **kwargs)
            finally:
                self.backwards.framework = None

        return backward

    def _division(self, at: Place) -> Place | None:
        """Where the program divides the loss that it gives to backward at this place."""
        source = self.journal.places.source(at.path)
        statement = source.statement_at(at.line)
        if statement is None:
            return None
        wanted = {node.id for node in ast.walk(statement) if isinstance(node, ast.Name)}
        before = [s for s in source.statements if s.lineno <= at.line]
        for candidate in sorted(before, key=lambda s: -s.lineno):
            if candidate is statement or _assigns(candidate) & wanted:
                for line, column in _divisions(candidate):
                    return Place(at.path, line, column)
        return None


def _assigns(statement: ast.stmt) -> set[str]:
    match statement:
        case ast.Assign(targets):
            return {ast.unparse(target) for target in targets}
        case ast.AugAssign(target):
            return {ast.unparse(target)}
    return set()


def _divisions(statement: ast.stmt) -> Iterator[tuple[int, int]]:
    for node in ast.walk(statement):
        if isinstance(node, ast.BinOp | ast.AugAssign) and isinstance(node.op, ast.Div | ast.Mult):
            yield statement.lineno, statement.col_offset
