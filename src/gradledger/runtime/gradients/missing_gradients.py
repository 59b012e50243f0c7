"""Finds the tensor whose missing `.grad` ended the program, if the books don't know it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from torch import Tensor

from gradledger.runtime.journal.cells import grad_of
from gradledger.runtime.program.objects import attributes, is_a
from gradledger.runtime.program.places import Places
from gradledger.runtime.program.variables import variables


def without_gradient(error: BaseException, places: Places) -> Iterator[tuple[str, Tensor]]:
    """The tensors without a gradient whose `.grad` the statement mentions that raised this."""
    traceback, innermost = error.__traceback__, None
    while traceback is not None:
        if places.is_users(traceback.tb_frame.f_code):
            innermost = traceback
        traceback = traceback.tb_next
    if innermost is None:
        return
    frame = innermost.tb_frame
    statement = places.source(frame.f_code.co_filename).statement_at(innermost.tb_lineno)
    if statement is None or getattr(statement, "body", None):
        return
    known = dict.copy(frame.f_globals) | variables(frame)
    for node in ast.walk(statement):
        if isinstance(node, ast.Attribute) and node.attr == "grad":
            found = _value(node.value, known)
            if is_a(found, Tensor) and not _has_gradient(found):
                yield ast.unparse(node.value), found


def _value(node: ast.expr, known: dict[str, Any]) -> object:
    """What a variable, or an attribute of one, is; nothing is called for it."""
    if isinstance(node, ast.Name):
        return known.get(node.id)
    if isinstance(node, ast.Attribute):
        return attributes(_value(node.value, known)).get(node.attr)
    return None


def _has_gradient(tensor: Tensor) -> bool:
    # Torch warns who asks a tensor that can't have any.
    return (tensor.is_leaf or tensor.retains_grad) and grad_of(tensor) is not None
