"""What of a file trains: whether it does so with torch, in its loops, and by which names."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import partial

from gradledger.static.domain.values import ClassDef
from gradledger.static.lower.attributes import lineage
from gradledger.static.lower.call_graph import called_in, classes_made, makes_deposits, spends
from gradledger.static.project.module import Function, Module
from gradledger.static.source import syntax as ast
from gradledger.static.source.patterns import Pattern, says
from gradledger.static.source.vocabulary import BACKWARDS, DOES, STEPS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gradledger.static.lower.machine import Machine

_IMPORTS = Pattern(r"(?:^|[\r\n])[ \t]*(?:import|from)[ \t]+(?=(\w+))|\bimport[ \t]+(\*)")

_PLAINLY = ("import torch", "from torch")
"""How a line begins that says it, in nearly all files: no pattern is needed to see that."""

TORCH = (
    *("torch", "pytorch_lightning", "lightning", "accelerate", "deepspeed", "apex"),
    *("transformers", "fastai", "ignite", "*"),
)
"""How imports of it begin. Other libraries have gradients too, with other laws."""

OTHERS = frozenset(
    {"jax", "flax", "optax", "tensorflow", "keras", "paddle", "mxnet", "mindspore", "tinygrad",
     "chainer", "oneflow", "megengine", "cupy"}
)  # fmt: skip
"""They also have a `zero_grad`, or something like it."""

STEPS_ITS_OWN = Pattern(r"self\.\w*opt\w*(?:\[[^\]\r\n]*\])?\.step\(", words=(".step(",))
"""Words of classes that have an optimizer and use it."""


def is_torch(text: str) -> bool:
    """Does the file say that it trains with torch?

    One may do so with what other files have made of it.
    """
    if text.startswith(_PLAINLY) or any(f"\n{said}" in text for said in _PLAINLY):
        return True
    if any(name.startswith(TORCH) for name in _imported(text)):
        return True
    return "zero_grad(" in text and OTHERS.isdisjoint(_imported(text))


def _imported(text: str) -> Iterator[str]:
    return (match[1] or match[2] for match in _IMPORTS.finditer(text))


def may_be_torch(text: str) -> bool:
    """Does it train, with torch for all that it says? Who forgets to clear, says no zero_grad."""
    if is_torch(text):
        return True
    return says(text, BACKWARDS) and says(text, STEPS) and OTHERS.isdisjoint(_imported(text))


def goes_round(module: Module, machine: Machine) -> bool:
    """Does a loop of the file call what deposits or spends, in whatever file?

    What is called once is followed where it stands.
    """
    loops = [n for n in ast.walk(module.tree) if isinstance(n, ast.For | ast.While)]
    if not loops:
        return False
    own = (d for d in module.definitions.values() if isinstance(d, ast.ClassDef))
    classes = [*(ClassDef(d, module) for d in own), *classes_made(machine, module)]
    return any(
        spends(machine, function) or makes_deposits(machine, function)
        for loop in loops
        for function in called_in(machine, module, [loop], classes)
    )


def fills_in(module: Module, machine: Machine) -> bool:
    """Does a class of the file define what a base of another file calls where it trains?"""
    for statement in module.definitions.values():
        if isinstance(statement, ast.ClassDef) and statement.bases:
            own = {s.name for s in statement.body if isinstance(s, Function)}
            for base in lineage(machine, ClassDef(statement, module)):
                if base.module is not module and _calls_where_it_trains(base, own):
                    return True
    return False


def _calls_where_it_trains(base: ClassDef, names: set[str]) -> bool:
    """Does a method that deposits or spends call one of these on itself?"""
    for method in base.module.methods(base.node).values():
        if base.module.says(DOES, method):
            text = base.module.text(method)
            if any(f"self.{name}(" in text for name in names):
                return True
    return False


def training_in(module: Module, trained: Collection[int]) -> tuple[str, ...]:
    """The names at the top level behind which gradients are deposited and spent.

    `trained`: the functions on the way through which that happened, by identity.
    """
    return tuple(n for n, d in module.definitions.items() if _trains(module, d, trained))


def _trains(module: Module, definition: object, trained: Collection[int]) -> bool:
    match definition:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            return id(definition) in trained
        case ast.ClassDef():
            says = partial(module.says, node=definition)
            # Or in several methods, each of which does its part.
            return any(id(method) in trained for method in definition.body) or (
                says(BACKWARDS) and says(STEPS_ITS_OWN)
            )
    return False
