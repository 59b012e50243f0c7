"""Backward passes: what each deposits, where, and in which unit."""

from __future__ import annotations

from gradledger.ledger.values import replace
from gradledger.static.domain.values import UNKNOWN, Constant, Items, Known, Thing, reach_of
from gradledger.static.ir.effects import Deposits, Excuses
from gradledger.static.ir.keys import NO_KEYS, within
from gradledger.static.ir.program import Branch, Do, Program
from gradledger.static.lower.arguments import Arguments
from gradledger.static.lower.unknown_calls import Strangers
from gradledger.static.source import syntax as ast
from gradledger.static.source.patterns import Pattern
from gradledger.static.source.vocabulary import HOOKS

KEEPS = Pattern(r"self\.\w+(?:\[[^][]*\])?\s*=|self\.\w+\.append")
"""Words of methods that leave something behind in their object."""


class Depositing(Strangers):
    """What losses bring to the cells."""

    def deposit(
        self, loss: Known, node: ast.AST, arguments: Arguments | None = None, **more: object
    ) -> None:
        """A backward pass from a loss."""
        arguments = arguments or Arguments()
        if isinstance(loss, Items):
            things = [v for v in loss.values if isinstance(v, Thing)]
            loss = self.computed(*things) if things else UNKNOWN
        if not isinstance(loss, Thing):
            loss = UNKNOWN
        elif loss.plain and not loss.key:  # it has a graph, of which nothing was seen
            loss = Thing(scaler=loss.scaler)
        inputs = arguments.named.get("inputs")
        reach = self.keys_of(inputs) if inputs is not None else reach_of(loss)
        retain = arguments.named.get("retain_graph")
        create = arguments.named.get("create_graph")
        effect = Deposits(
            self.at(node),
            reach,
            frozen=self.frozen,
            half_frozen=self.half_frozen,
            weight=loss.weight,
            scaler=loss.scaler,
            local=self._locality(loss, reach),
            retains=retain == Constant.of(True)
            and create is None
            and not self._walks_by_hand()
            and loss.depth == len(self.loops)
            and all(map(self.forgets_its_graph, reach)),
            walks=loss.kept | loss.carried,
            passes=loss.passes,
            maybe=loss.maybe if inputs is None else NO_KEYS,
        )
        self._deposit_where_frozen(replace(effect, **more) if more else effect)
        self.reached |= reach
        again = retain is not None and self._may_be_for_others(retain, reach)
        if again or create is not None or self.listening:
            # The graph is walked again, or listened to: this pass may be for hooks or a penalty.
            # Nets that are trained against each other keep it for the other's turn.
            self.emit(Excuses(self.at(node), reach))
        self.listening = False
        self.backwards += 1

    def _deposit_where_frozen(self, effect: Deposits) -> None:
        """What an option has frozen gets nothing where that option is chosen."""
        asked = sorted({name for key, name, _ in self.frozen_if if _reaches(effect, key)})
        if len(asked) != 1 or len(self.optimizers) < 2:  # of several, the paths would be too many
            self.emit(effect)
            return
        name = asked[0]

        def frozen_if(answer: bool) -> Program:
            keys = {key for key, *way in self.frozen_if if way == [name, answer]}
            return Do(replace(effect, frozen=effect.frozen | keys))

        self.count_work(2)
        self.out.append(Branch(frozen_if(True), frozen_if(False), name))

    def _may_be_for_others(self, retain: Known, reach: frozenset[str]) -> bool:
        """May a pass that keeps its graph be made for somebody else than the optimizer?"""
        if len(self.optimizers) > 1 or retain == Constant.of(False):
            return False
        if retain != Constant.of(True) or not reach or self._walks_by_hand():
            return True
        listens = self.scope.module.says_anywhere(HOOKS)
        return listens or not all(map(self._is_plain_net, reach))

    def _is_plain_net(self, key: str) -> bool:
        """Is it surely a model, all of it in sight, in which nobody listens?"""
        thing = self.store.get(key)
        cls = thing.cls if isinstance(thing, Thing) else None
        listens = cls is not None and cls.module.says_anywhere(HOOKS)
        return self.forgets_its_graph(key) and not listens

    def _walks_by_hand(self) -> bool:
        """Does the function ask for gradients itself, besides?"""
        module = self.scope.module
        return "autograd.grad(" in module.text(self.scope.node or module.tree)

    def forgets_its_graph(self, key: str) -> bool:
        """Is it surely a model of which no call leaves a graph behind in it?"""
        thing = self.store.get(key)
        if not isinstance(thing, Thing):
            return False
        if thing.cls is None:
            return (thing.leaf and not thing.reach) or thing.built.startswith("torch.nn.")
        forward = self.method(thing.cls, "forward")
        return forward is not None and not KEEPS.search(forward.module.text(forward.node))

    def _locality(self, loss: Thing, reach: frozenset[str]) -> bool | None:
        alone = bool(loss.passes) and loss.passes.isdisjoint(self.averaged.keys())
        if loss.local and (self.local or alone):
            return True  # the forward decides, wherever the backward stands
        replicated = any(
            isinstance(value, Thing) and value.replicated and (name in reach or value.key in reach)
            for name, value in self.store.items()
        ) or any(self.averaged.get(called) for called in loss.passes)
        # Under `no_sync()` with its backward alone, it is averaged all the same.
        settled = self.local is not None or not self._may_hold_back()
        return False if replicated and settled else None

    def _may_hold_back(self) -> bool:
        """Is there a word of ranks that do not sync, in some way that is not followed?"""
        source = self.scope.module.source
        return self.no_sync_maybe or "no_sync" in source or "backward_grad_sync" in source


def _reaches(effect: Deposits, key: str) -> bool:
    """May it deposit there?"""
    return any(within(r, key) or within(key, r) for r in effect.keys | effect.maybe)
