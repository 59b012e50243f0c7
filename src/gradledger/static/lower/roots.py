"""Where to begin: the script itself, and functions and methods that nobody here calls."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from gradledger.ledger.values import replace
from gradledger.static.domain.values import ClassDef, FunctionDef, Thing
from gradledger.static.ir.program import NOTHING
from gradledger.static.lower.attributes import lineage
from gradledger.static.lower.call_graph import (
    CLOSURES,
    called_in,
    keeps_cycle,
    may_deposit,
    spends,
)
from gradledger.static.lower.lowering import Following
from gradledger.static.lower.names import module_scope
from gradledger.static.lower.root import THE_SCRIPT, Root
from gradledger.static.project.module import Function
from gradledger.static.source import syntax as ast
from gradledger.static.source.patterns import Pattern
from gradledger.static.source.vocabulary import BACKWARDS, DEPOSITS, DOES, STEPS

MAKES = Pattern(
    r"ptim|\.fit\(|DataLoader\(|rand\(|randn\(",
    words=("ptim", ".fit(", "DataLoader(", "rand(", "randn("),
)
"""Words of code that makes what deposits or spends, or data of which the size is known."""

_WORDS, _CALLS, _OWN_CALLS = Pattern(r"\w+"), Pattern(r"(\w+)\("), Pattern(r"self\.(\w+)\(")
MADE = Pattern(r"= *(?:torch\.)?(?:optim\.)?[A-Z]\w*\([^\r\n]*parameters\(", words=("parameters(",))
CLEARS = Pattern(r"\.zero_grad\(", words=(".zero_grad(",))


class Roots:
    """The roots of a file: what has been come through from one of them, is none."""

    def __init__(self, following: Following) -> None:
        self._following = following
        self._module = following.module
        self._top = following.top

    def all(self) -> Iterator[Root]:
        """The script, then functions, then methods."""
        yield self._script()
        yield from self._functions()
        for statement in list(self._module.definitions.values()):
            if isinstance(statement, ast.ClassDef):
                yield from self._methods(ClassDef(statement, self._module))

    def _script(self) -> Root:
        if self._worth_walking():
            return self._following.script()
        return Root(THE_SCRIPT, self._top.at(self._module.tree), NOTHING, {}, {}, ())

    def _worth_walking(self) -> bool:
        """Does the top level make anything that matters, itself or by what it calls?"""
        inside = [
            statement
            for statement in self._module.tree.body
            if not isinstance(statement, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef)
        ]
        says = self._module.says
        if any(says(MAKES, statement) or says(DEPOSITS, statement) for statement in inside):
            return True
        return any(map(self._is_worth_it, called_in(self._top, self._module, inside)))

    def _is_worth_it(self, function: FunctionDef) -> bool:
        """Does it deposit and spend, or is it told by its words that it might?"""
        if _makes_and_clears(function) or _may_forget(function):
            return True
        return keeps_cycle(self._top, function) and may_deposit(self._top, function)

    def _functions(self) -> Iterator[Root]:
        functions = [
            d
            for d in list(self._module.definitions.values())
            if isinstance(d, Function) and self._is_worth_it(FunctionDef(d, self._module, ""))
        ]
        if len(functions) > 1:
            # Who calls comes first. `spawn(main, args=…)` calls nobody by name.
            calls = Counter(_CALLS.findall(self._module.source))
            counts = Counter(_WORDS.findall(self._module.source))
            functions.sort(key=lambda f: (calls[f.name], counts[f.name]))
        for node in functions:
            if id(node) not in self._following.done:
                yield self._following.function(node)

    def _methods(self, cls: ClassDef) -> Iterator[Root]:
        machine = self._top
        found: dict[str, FunctionDef] = {}
        for owner in reversed(lineage(machine, cls)):
            for statement in owner.node.body:
                if isinstance(statement, Function):
                    found[statement.name] = FunctionDef(
                        statement, owner.module, module_scope(machine, owner.module), None, owner
                    )
        hooks = {"training_step", "compute_loss"} & found.keys()
        if not hooks and not any(self._may_train(f, cls) for f in found.values()):
            return
        texts = {name: f.module.text(f.node) for name, f in found.items()}
        text = "\n".join(texts.values())
        called = Counter([*_OWN_CALLS.findall(text), *CLOSURES.findall(text)])
        order = sorted(
            (name for name in found if name not in ("__init__", "configure_optimizers")),
            key=called.__getitem__,
        )
        for name in order:
            method = found[name]
            inherited = method.module is not self._module
            if inherited and not _overridden_calls(texts[name], cls):
                continue  # the file of the base is the place to say it
            done = not inherited and id(method.node) in self._following.done
            if done and not self._is_another_loop(method, texts[name], cls):
                continue
            if name in hooks or keeps_cycle(machine, replace(method, bound=Thing("self", cls=cls))):
                yield self._following.method(cls, method, name)

    def _is_another_loop(self, method: FunctionDef, text: str, cls: ClassDef) -> bool:
        """Is it a loop of a base class, which calls what this class trains by instead?"""
        if method.cls is None or method.cls.node is cls.node:
            return False
        from gradledger.static.lower.abstract_classes import leaves_open

        above = method.module.methods(method.cls.node)
        return any(
            f"self.{own.name}(" in text
            for own in self._module.methods(cls.node).values()
            if leaves_open(above.get(own.name))
            or (self._module.says(DOES, own) and id(own) not in self._following.done)
        )

    def _may_train(self, method: FunctionDef, cls: ClassDef) -> bool:
        """Does it say something of gradients, or call what does, in other files too?"""
        if method.module.says(DOES, method.node):
            return True
        return bool(self._module.made) and spends(
            self._top, replace(method, bound=Thing("self", cls=cls))
        )


def _makes_and_clears(function: FunctionDef) -> bool:
    """Does it make an optimizer, deposit and clear? Then it should step, too."""
    return all(function.module.says(said, function.node) for said in (BACKWARDS, CLEARS, MADE))


def _may_forget(function: FunctionDef) -> bool:
    """Does it make an optimizer, in a file that clears and steps and never walks back?"""
    module = function.module
    if module.says_anywhere(BACKWARDS) or not module.says(MADE, function.node):
        return False
    return module.says_anywhere(CLEARS) and module.says_anywhere(STEPS)


def _overridden_calls(text: str, cls: ClassDef) -> bool:
    """Does an inherited method call what this class defines?"""
    own = {s.name for s in cls.node.body if isinstance(s, ast.FunctionDef)}
    return any(f"self.{name}(" in text for name in own)
