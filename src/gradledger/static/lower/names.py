"""What names stand for: variables, definitions and imports."""

from __future__ import annotations

import builtins

from gradledger.static.domain.scopes import Knowledge, Scope
from gradledger.static.domain.values import (
    ClassDef,
    Constant,
    External,
    FunctionDef,
    Imported,
    Known,
    Thing,
)
from gradledger.static.lower.value_names import Naming
from gradledger.static.project.module import Import, Module
from gradledger.static.project.packages import OUTSIDE
from gradledger.static.source import syntax as ast

CONVENTIONS = {
    "torch": "torch",
    "nn": "torch.nn",
    "optim": "torch.optim",
    "F": "torch.nn.functional",
    "np": "numpy",
    "tqdm": "tqdm.tqdm",
    "amp": "apex.amp",
}
"""What everybody calls them, also where the import is out of sight."""

BUILTINS = frozenset(dir(builtins))


class Names(Naming):
    """Names, and where they are defined."""

    known: Knowledge

    def eval(self, node: ast.expr | None) -> Known:
        """What the expression stands for."""
        raise NotImplementedError

    def name(self, node: ast.Name) -> Known:
        """The value of a name."""
        return self.lookup(node.id)

    def lookup(self, name: str) -> Known:
        """What a name stands for here, in the scopes around, or at the top of the file."""
        scope = self.scope
        while True:
            value = self.load(scope.id + name)
            if value is not None:
                return value
            if scope.parent is None:
                break
            scope = self.scopes[scope.parent]
        found = self.defined(self.scope.module, name)
        if found is not None:
            return found
        if name in BUILTINS:
            return External(f"builtins.{name}")
        if name in CONVENTIONS:
            return External(CONVENTIONS[name])
        return Thing(self.scope.id + name if self.scope.id else name)

    def full_name(self, name: str) -> str:
        """Where a name is kept when it is assigned here."""
        scope = self.scope
        if name in _declared_elsewhere(scope.node):
            return name
        return scope.id + name

    def where(self, name: str) -> str:
        """Where a name is kept that is used here."""
        scope = self.scope
        while scope.id + name not in self.store and scope.parent is not None:
            scope = self.scopes[scope.parent]
        found = scope.id + name
        return found if found in self.store else self.full_name(name)

    def is_of_this_batch(self, target: ast.expr) -> bool:
        """Was it made for the data at hand, with which it is let go?"""
        if isinstance(target, ast.Subscript):
            return self._is_of_this_round(target.value) or self.is_of_this_batch(target.value)
        if isinstance(target, ast.Attribute):
            owner = self.eval(target.value)
            return isinstance(owner, Thing) and owner.key in self.loops[-1].born
        if not isinstance(target, ast.Name):
            return False
        return self.full_name(target.id) in self.fresh or self._is_of_this_call(target.id)

    def _is_of_this_call(self, name: str) -> bool:
        """Does it begin anew with each call of the function at hand, which each round makes?"""
        scope = self.scope
        if scope.loops < len(self.loops) or not isinstance(scope.node, ast.FunctionDef):
            return False
        value = self.lookup(name)
        new = False
        if isinstance(value, Thing) and value.sure and value.reach and not value.kept:
            # What was computed since the round began is new, whatever it was taken from.
            new = value.depth == len(self.loops)
        from gradledger.static.lower.call_locals import begins_in

        return begins_in(scope.node, name, new=new)

    def _is_of_this_round(self, holder: ast.expr) -> bool:
        """Was that which holds an item made since the round of the loop at hand began?"""
        loop, key = self.loops[-1], self.key_of(holder)
        return key in loop.assigned and key not in loop.read

    def key_of(self, spelled: ast.expr) -> str:
        """Where that which is spelled like this is kept; empty where nobody knows."""
        match spelled:
            case ast.Name(id=name):
                return self.where(name)
            case ast.Attribute(value=base, attr=name):
                owner = self.eval(base)
                return f"{owner.key}.{name}" if isinstance(owner, Thing) and owner.key else ""
            case _:
                return ""

    def defined(self, module: Module, name: str, depth: int = 0) -> Known | None:
        """What the top level of a module defines by this name."""
        key = id(module), name
        if depth or key not in self.known.definitions:
            value = self._defined(module, name, depth)
            if depth:
                return value
            self.known.definitions[key] = value
        value = self.known.definitions[key]
        if isinstance(value, FunctionDef):
            self.module_scope(value.module)  # of this walk, whoever has asked before
        return value

    def _defined(self, module: Module, name: str, depth: int) -> Known | None:
        found = module.definitions.get(name)
        match found:
            case None:
                return self._by_star(module, name, depth)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                return FunctionDef(found, module, self.module_scope(module))
            case ast.ClassDef():
                return ClassDef(found, module)
            case ast.Constant(value):
                return Constant.of(value)
            case Import() if depth < 6:
                return self._imported(module, found, depth)
            case _:
                return None

    def _by_star(self, module: Module, name: str, depth: int) -> Known | None:
        for star in module.stars if depth < 3 and len(module.stars) < 8 else ():
            top = star.module.partition(".")[0]
            if not star.level and top in OUTSIDE:
                continue
            other = self.project.imported(module, star.module, star.level)
            if other is not None and other is not module:
                value = self.defined(other, name, depth + 1)
                if value is not None:
                    return value
        return None

    def module_scope(self, module: Module) -> str:
        """The scope of a module's top level."""
        if module is self.scopes[""].module:
            return ""
        id = f"{module.path}:"
        if id not in self.scopes:
            self.scopes[id] = Scope(id, module)
        return id

    def _imported(self, by: Module, wanted: Import, depth: int) -> Known:
        top = wanted.module.partition(".")[0]
        dotted = ".".join(filter(None, (wanted.module, wanted.name)))
        if not wanted.level and top in OUTSIDE:
            return External(dotted)
        if not wanted.name:
            module = self.project.imported(by, wanted.module, wanted.level)
            return External(dotted) if module is None else Imported(module.path, module)
        module = (
            self.project.imported(by, wanted.module, wanted.level)
            if wanted.module or (wanted.level)
            else None
        )
        if module is not None:
            value = self.defined(module, wanted.name, depth + 1)
            if value is not None:
                return value
            inner = self.project.submodule(module, wanted.name)
            if inner is not None:
                return Imported(inner.path, inner)
        inside = ".".join(filter(None, (wanted.module, wanted.name)))
        module = self.project.imported(by, inside, wanted.level)
        return External(dotted) if module is None else Imported(module.path, module)

    def in_module(self, module: Module, node: ast.expr) -> Known:
        """The value of an expression at the top level of a module."""
        with self.inside(self.scopes[self.module_scope(module)]):
            return self.eval(node)


def _declared_elsewhere(node: ast.AST | None) -> set[str]:
    """Names that a function says are global."""
    body = getattr(node, "body", None)
    if not isinstance(body, list):
        return set()
    return {n for s in body if isinstance(s, ast.Global) for n in s.names}
