"""Functions that do nothing to gradients, and what is made of them without a walk through them."""

from __future__ import annotations

from collections.abc import Iterable

from gradledger.ledger.values import replace
from gradledger.static.domain.values import (
    PLAIN,
    UNKNOWN,
    FunctionDef,
    Items,
    Known,
    Parameters,
    Thing,
    reach_of,
)
from gradledger.static.ir.effects import Renews
from gradledger.static.ir.keys import NO_KEYS, Keys, within
from gradledger.static.ir.notes import AttributesReplaced, FrozenHandedOut
from gradledger.static.lower.arguments import Arguments, Taking
from gradledger.static.lower.call_graph import cuts, has_no_graph
from gradledger.static.project.module import ATTRIBUTES
from gradledger.static.source import syntax as ast
from gradledger.static.source.patterns import Pattern
from gradledger.static.source.vocabulary import HOOKS, TRAINS

ATTACHES = Pattern(
    r"setattr\(|add_module\(|register_(?:parameter|module)\(|Parameter\("
    r"|(?:\]|(?<!self)\.\w+)[ \t]*=[ \t]*[\w.]*\b[A-Z]\w*\(",
    words=("setattr(", "add_module(", "register_", "Parameter(", "="),
)
"""Words of functions that hang new modules or parameters into what they are given."""


class PassingOver(Taking):
    """Calls of functions that are not worth following."""

    def _attaches(self, function: FunctionDef) -> bool:
        """Does it give new parts to an object, by itself or by what it calls?"""
        return self._reaches(
            function, self.known.attaching, lambda f: f.module.says(ATTACHES, f.node)
        )

    def may_thaw(self, values: Iterable[Known], node: ast.AST) -> None:
        """Who gets a frozen net may hang new parameters into it, or set its own free."""
        given = NO_KEYS.union(*map(_keys_given, values)) if self.frozen else NO_KEYS
        thawed = {k for k in self.frozen if any(within(key, k) or within(k, key) for key in given)}
        if thawed:
            self.note(FrozenHandedOut, self.at(node), given | thawed)

    def _unfollowed(self, function: FunctionDef, arguments: Arguments, node: ast.AST) -> Known:
        """The result of a function that does nothing to gradients."""
        if id(function.node) in self.stack:
            return UNKNOWN
        if has_no_graph(function.node):
            return PLAIN
        bound = (function.bound,) if function.bound is not None else ()
        if isinstance(function.bound, Thing) and function.bound.key:
            self._renew_attributes(function, function.bound.key, node)
            if function.module.says(ATTRIBUTES, function.node):
                self.may_thaw(bound, node)
            if self.optimizers:
                from gradledger.static.lower.replaced_parameters import exchange_parts

                exchange_parts(self, function, function.bound, node)
        self.listening = self.listening or function.module.says(HOOKS, function.node)
        if self.evaluating and function.module.says(TRAINS, function.node):
            self.evaluating = NO_KEYS
        values = (*bound, *arguments.values())
        made = self.computed(*values, sure=False)
        if made.plain:
            made = self.computed(*self._nets_called(function), sure=False)
        if made.plain and self.is_generator(function):
            from gradledger.static.lower.generators import number_given

            number = number_given(self, function, arguments)
            return Thing(plain=True, shape=(number,)) if number else made
        if made.reach:
            surely = made.reach
            if cuts(function):
                surely = NO_KEYS
            elif self.gives_several(function):
                # Which of them is made of which argument, nobody knows: data is an argument, too.
                given = (reach_of(v) for v in values if isinstance(v, Thing) or reach_of(v))
                surely = made.reach.intersection(*given)
            made = replace(made, reach=surely, maybe=made.maybe | (made.reach - surely))

        def follow() -> Known:
            return self._followed(function, arguments, node, root=False)

        if self.is_worth_a_look(function) and self.depends_on_what_is_called(made):
            return self.looked_into(function, made, follow)
        if not made.plain and self.weighs(function):
            return self.weighed(function, made, follow)
        return made

    def _nets_called(self, function: FunctionDef) -> list[Thing]:
        """The nets that a function calls without having been given them: those around it."""
        around = (
            self.store.get(function.scope + n) for n in function.module.calls(function.node)[0]
        )
        return [v for v in around if isinstance(v, Thing) and v.key and self.is_model(v.key)]

    def _renew_attributes(self, function: FunctionDef, owner: str, node: ast.AST) -> None:
        """A method that is not followed may give its object other models, or graphs."""
        for name in set(ATTRIBUTES.findall(function.module.text(function.node))):
            if getattr(function.node, "name", "") != "__init__":
                self.note(AttributesReplaced, self.at(node))
            held = self.store.get(f"{owner}.{name}", Thing(f"{owner}.{name}"))
            if isinstance(held, Thing) and held.key and not held.plain:
                self.emit(Renews(self.at(node), frozenset({held.key})))

    def _followed(
        self, function: FunctionDef, arguments: Arguments, node: ast.AST, *, root: bool
    ) -> Known:
        """Walks through the function, as a block of its own."""
        raise NotImplementedError

    def is_model(self, key: str) -> bool:
        """Is what this key names surely a model?"""
        raise NotImplementedError


def _keys_given(value: Known) -> Keys:
    """What somebody can change who has this value."""
    match value:
        case Thing():
            return frozenset({value.key} if value.key and not value.plain else ())
        case Items():
            return NO_KEYS.union(*map(_keys_given, value.values))
        case Parameters():
            return value.keys
        case _:
            return NO_KEYS
