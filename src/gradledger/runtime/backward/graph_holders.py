"""Which variable of the program holds a graph, and which statement put it there."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterable, Iterator
from types import FrameType, ModuleType
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.autograd.graph import Node

from gradledger.ledger.places import Place
from gradledger.runtime.program.assignments import Does, carried_over, carries, keeps, makes
from gradledger.runtime.program.places import Places
from gradledger.runtime.program.reachable_objects import Held, Reach, Scope, attributes, is_a
from gradledger.runtime.program.source_files import Source
from gradledger.runtime.program.variables import variables

Dated = Callable[[Node], int | None]
"""Which iteration a node is of that is looked for; None for all others."""

_NEAR = 5_000
"""Nodes behind a variable that are looked at."""
_FIRST_ROOTS = 20_000


class Grip(NamedTuple):
    """A variable that holds graphs."""

    at: Place
    """The statement that put them there."""
    name: str
    """`self.losses`, `history["loss"]`."""
    iterations: int
    """Of how many iterations, as far as was looked."""


class Holder:
    """A variable or an attribute, and the tensors with a graph in it."""

    def __init__(self, held: Held) -> None:
        self.scope = held.scope
        self.path = held.holder
        self.owner = held.owner
        self.tensors: list[Tensor] = []
        self.keys: set[str] = set()

    @property
    def name(self) -> str:
        """As the program would write it."""
        key = next(iter(self.keys)) if len(self.keys) == 1 else ""
        return self.path + (key if key != "[]" else "")


class Survey:
    """All variables that hold graphs, and the modules that they may be graphs of."""

    def __init__(self, places: Places, frames: Iterable[FrameType], owner: object = None) -> None:
        reach = Reach(places.is_users)
        for scope, space in _spaces(places, list(frames)):
            reach.add(scope, space)
        if owner is not None:
            reach.add(Scope(places.last.path, None), {"self": owner})
        found: dict[tuple[str, object, str], Holder] = {}
        self.modes: dict[int, bool] = {}
        """For each parameter that was met: is a module that has it in training mode?"""
        self.modules: list[Held] = []
        """Every way to a module that was met."""
        # Methods of a subclass of Tensor are the program's code.
        with torch._C.DisableTorchFunctionSubclass():
            for held in reach:
                if is_a(held.value, Tensor):
                    if _root(held.value) is not None:
                        key = held.scope.path, held.scope.code, held.holder
                        holder = found.setdefault(key, Holder(held))
                        holder.tensors.append(held.value)  # type: ignore[arg-type]
                        holder.keys.add(held.key)
                elif is_a(held.value, nn.Module):
                    self._met(held)
        self.holders = list(found.values())
        self.cut = reach.cut

    def _met(self, held: Held) -> None:
        self.modules.append(held)
        training = attributes(held.value).get("training") is True
        for identity in _own_parameters(held.value):
            self.modes[identity] = self.modes.get(identity, False) or training


def parameters_of(module: object) -> set[int]:
    """The identities of all parameters of a module and the modules in it, without asking it."""
    found: set[int] = set()
    waiting, met = [module], {id(module)}
    while waiting:
        one = waiting.pop()
        found.update(_own_parameters(one))
        inside = attributes(one).get("_modules")
        for part in list(inside.values()) if type(inside) is dict else ():
            if is_a(part, nn.Module) and id(part) not in met:
                met.add(id(part))
                waiting.append(part)
    return found


def _own_parameters(module: object) -> list[int]:
    parameters = attributes(module).get("_parameters")
    return [id(p) for p in parameters.values()] if type(parameters) is dict else []


class Holders:
    """Looks through all that the variables of the program hold."""

    def __init__(self, places: Places) -> None:
        self._places = places

    def survey(self, frames: Iterable[FrameType], owner: object = None) -> Survey:
        """What there is, from these frames, the program's modules, and an object that none of them
        need hold."""
        return Survey(self._places, frames, owner)

    def keeper(self, dated: Dated, survey: Survey, least: int = 2) -> Grip | None:
        """The sum or append that keeps such nodes of several iterations alive: of most of them."""
        with torch._C.DisableTorchFunctionSubclass():
            found = [(len(_iterations(h.tensors, dated)), h) for h in survey.holders]
        for count, holder in sorted(found, key=lambda pair: -pair[0]):
            if count < least:
                break
            place = self.place(holder)
            if place is not None:
                return Grip(place, holder.name, count)
        return None

    def place(self, holder: Holder) -> Place | None:
        """The statement that keeps things in it, or, where that goes by another name, makes it."""
        return self._statement(holder, keeps) or self._statement(holder, makes)

    def maker(self, holder: Holder) -> Place | None:
        """The statement that assigned it last: in a loop rather than before it."""
        for source, statements, is_it in self._where(holder):
            made = [s for s in statements if makes(s, is_it)]
            again = [s for s in made if source.loop_round(s.lineno) is not None]
            if made:
                return _place(source, (again or made)[-1])
        return None

    def carrier(self, dated: Dated, survey: Survey) -> Grip | None:
        """The assignment that carries such a node from one iteration to the next."""
        with torch._C.DisableTorchFunctionSubclass():
            found = [(h, len(_iterations(h.tensors, dated))) for h in survey.holders]
        reaching = [(holder, count) for holder, count in found if count]
        for find in (self._carried, self._carried_over):
            for holder, count in reaching:
                place = find(holder)
                if place is not None:
                    return Grip(place, holder.name, count)
        return None

    def _carried(self, holder: Holder) -> Place | None:
        return self._statement(holder, carries)

    def _carried_over(self, holder: Holder) -> Place | None:
        """Where the new value gets there by way of another variable."""
        for source, statements, is_it in self._where(holder):
            rounds = {id(loop): loop for s in statements if (loop := source.loop_round(s.lineno))}
            inside = (
                [s for s in statements if loop.lineno < s.lineno <= (loop.end_lineno or 0)]
                for loop in rounds.values()
            )
            for block in [statements] if "." in holder.path else inside:
                if (found := carried_over(block, is_it)) is not None:
                    return _place(source, found)
        return None

    def _statement(self, holder: Holder, does: Does) -> Place | None:
        for source, statements, is_it in self._where(holder):
            for statement in statements:
                if does(statement, is_it):
                    return _place(source, statement)
        return None

    def _where(
        self, holder: Holder
    ) -> Iterator[tuple[Source, list[ast.stmt], Callable[[str], bool]]]:
        """Statements that may name it, and the name that it has there: the likeliest first."""
        source, code, path = self._places.source(holder.scope.path), holder.scope.code, holder.path
        yield source, source.statements_of(code), path.__eq__
        variable, _, attribute = path.rpartition(".")
        shared = code is None or path in (*code.co_cellvars, *code.co_freevars)
        if shared:  # by its functions, too
            yield source, source.statements, path.__eq__
        if not variable:
            return
        files = dict.fromkeys([source, *map(self._places.source, list(self._places.met))])
        own = f"self.{attribute}"
        if holder.owner is not None:
            kinds = {kind.__name__ for kind in type.mro(holder.owner)}
            for file in files:
                for method in file.methods_of(kinds):
                    yield file, method, own.__eq__
        for file in files:
            yield file, file.statements, lambda name: name.endswith(f".{attribute}")


def _spaces(places: Places, frames: list[FrameType]) -> Iterator[tuple[Scope, dict[str, object]]]:
    """The variables of these frames, and of all modules of the program."""
    done: set[int] = set()
    for frame in frames:
        code = frame.f_code
        if code.co_name == "<module>":
            done.add(id(frame.f_globals))
        scope = Scope(code.co_filename, None if code.co_name == "<module>" else code)
        yield scope, variables(frame)
    modules = [m for m in list(sys.modules.values()) if type(m) is ModuleType]
    for module in modules:
        space = module.__dict__
        file = space.get("__file__")
        if id(space) not in done and type(file) is str and places.is_users_file(file):
            done.add(id(space))
            yield Scope(file, None), dict(space)
    for frame in frames:
        if id(frame.f_globals) not in done:
            done.add(id(frame.f_globals))
            yield Scope(frame.f_code.co_filename, None), dict(frame.f_globals)


def _place(source: Source, statement: ast.stmt) -> Place:
    return Place(source.path, statement.lineno, statement.col_offset)


def _root(tensor: object) -> Node | None:
    try:
        return tensor.grad_fn  # type: ignore[attr-defined,no-any-return]
    except RuntimeError:  # a view whose base was changed
        return None


def _iterations(held: list[Tensor], dated: Dated) -> set[int]:
    """The iterations of such nodes behind these tensors."""
    roots = [root for tensor in held[:_FIRST_ROOTS] if (root := _root(tensor)) is not None]
    found = {when for root in roots if (when := dated(root)) is not None}
    met: set[Node] = set(roots)
    waiting = roots[-100:] + roots[:100]
    while waiting and len(met) < len(roots) + _NEAR:
        for behind, _ in waiting.pop().next_functions:
            if behind is not None and behind not in met:
                met.add(behind)
                waiting.append(behind)
                if (when := dated(behind)) is not None:
                    found.add(when)
    return found
