"""Clears beside a comment that says: what they drop was never meant to be used."""

from __future__ import annotations

from collections.abc import Iterator

from gradledger.static.project.module import Module
from gradledger.static.source import syntax as ast
from gradledger.static.source.patterns import Pattern

_SAYS_SO = Pattern(
    r"(?i)#.*\b(?:probes?|dry[- ]?run|(?:fake|dummy) (?:step|pass|backward|update|forward)"
    r"|gradients? (?:is|are) (?:only |just )?(?:discarded|dropped|thrown away))\b"
)
"""A GAN's `fake` samples are none of that."""


def is_stated_drop(module: Module, clear: ast.expr) -> bool:
    """`# a fake step, only a probe`, above the call of a clear or behind it."""
    return any(_SAYS_SO.search(line) for line in _lines_beside(module, clear) if "#" in line)


def _lines_beside(module: Module, node: ast.expr) -> Iterator[str]:
    """The lines of the call, and those above it that hold nothing but a comment."""
    yield from module.text(node).splitlines()
    for line in reversed(module.lines[: node.lineno - 1]):
        if not line.lstrip().startswith("#"):
            return
        yield line
