"""What is done to parameters and to their gradients, by hand or by torch."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from gradledger.ledger.events import Keep
from gradledger.ledger.places import Place
from gradledger.ledger.values import replace
from gradledger.static.domain.scopes import hands_on
from gradledger.static.domain.values import (
    NO_PLACES,
    PLAIN,
    UNKNOWN,
    Constant,
    Gradients,
    Items,
    Known,
    Optimizer,
    Parameters,
    Places,
    Thing,
    is_plain,
    kept_in,
    key_of,
)
from gradledger.static.ir.effects import Clears, Clips, Edits, Excuses, Reads, Spends
from gradledger.static.ir.keys import NO_KEYS, within
from gradledger.static.ir.notes import GradientHook, GradientsCopied, ScaledUnits
from gradledger.static.lower.arguments import Arguments
from gradledger.static.lower.attributes import named_by
from gradledger.static.lower.optimizer_calls import Stepping
from gradledger.static.lower.spelling import last_name
from gradledger.static.models import graphless
from gradledger.static.models.facts import GRADIENT
from gradledger.static.source import syntax as ast
from gradledger.static.source.patterns import Pattern
from gradledger.static.source.vocabulary import CUTS, NO_GRADIENTS

SCALE_MATTERS_NOT = Pattern(r"get_scale|isfinite|isnan|isinf")
"""Words around a norm that is right in any unit."""

TIMES_THE_SCALE = Pattern(r"[*/] *[\w.]+\.get_scale\(|get_scale\( *\) *\*", words=("get_scale(",))
"""Words of code that puts a limit into the unit of scaled gradients, or a norm out of it."""

INFINITE = Pattern(r"\binf\b")
_KEY_PARTS = Pattern(r"[.\[]")

NORMS = frozenset(
    [
        *("torch.norm", "torch.linalg.norm", "torch.linalg.vector_norm", "torch._foreach_norm"),
        *("torch.nn.utils.get_total_norm", "torch.nn.utils.clip_grad.get_total_norm"),
    ]
)
"""Functions that read the norm of the gradients that they are given."""

HUGE = 1e6
"""A norm that no gradient has: who clips to it wants to know the norm."""


class GradientCalls(Stepping):
    """Parameters, gradients, and lists that hold them."""

    def _of_parameters(self, parameters: Parameters, name: str, node: ast.Call) -> Known:
        arguments = self.arguments(node)
        if name.startswith("register_post_accumulate"):
            self.hooked = True
            return PLAIN
        if name == "register_hook":
            self.note(GradientHook, self.at(node), parameters.keys, parameters.of)
            return PLAIN
        if name == "requires_grad_":
            self.freeze(parameters.keys, arguments.get(0, "requires_grad") or Constant.of(True))
            return parameters
        if name in ("backward",):
            return PLAIN
        if name.endswith("_") and not name.endswith("__"):
            if self.reads_gradient(node):
                self.spend_by_hand(node, parameters)
            elif name == "copy_":
                self.put_back(parameters.keys, node)
            return parameters
        if name in ("extend", "append", "items", "values", "named_parameters", "parameters"):
            return parameters
        of_data = ast.unparse(node.func).endswith(f".data.{name}")
        plain = of_data or name in graphless.DETACHING
        return PLAIN if plain else Thing(reach=parameters.keys, leaf=True)

    def spend_by_hand(self, node: ast.AST, parameters: Parameters) -> None:
        """A step without an optimizer: whosever they are, that backward was of use."""
        self.emit(Spends(self.at(node), *named_by(parameters)))
        self.emit(Excuses(self.at(node)))

    def _of_gradients(self, gradients: Gradients, name: str, node: ast.Call) -> Known:
        arguments = self.arguments(node)
        keys, optimizer, leaf = named_by(gradients.of)
        at = self.at(node)
        first = arguments.get(0, "")
        if name == "zero_" or (name == "fill_" and first in (Constant.of(0), Constant.of(0.0))):
            needed = self._surely_made(keys)
            if self.partly or gradients.part:
                self.emit(Edits(at, keys, optimizer, leaf, "change"))
                return gradients
            self.emit(Clears(at, keys, optimizer, leaf, to_none=False, needed=needed))
        elif name == "detach_":
            pass
        elif name in ("div_", "mul_"):
            number = first.value if isinstance(first, Constant) else None
            factor = None
            if isinstance(number, int | float) and number:
                factor = 1 / number if name == "div_" else float(number)
            self.emit(Edits(at, keys, optimizer, leaf, "scale", factor))
        elif name.endswith("_") and not name.endswith("__"):
            if name == "copy_" and any(map(self.reads_gradient, node.args)):
                self.note_copied(gradients.of, node.args, node)
            self.emit(Edits(at, keys, optimizer, leaf, "change"))
        elif name in ("data", "detach", "requires_grad_"):
            return gradients
        else:
            if name == "norm" and not (self._whatever_the_scale(node) or self._divides_them(node)):
                self._note_units(node)
                self.emit(Clips(at, keys, optimizer, leaf, changes=False))
            self.emit(Reads(at, keys, optimizer, leaf, needed=self._surely_made(keys)))
            return PLAIN
        return gradients

    def note_copied(self, to: Parameters, given: Iterable[ast.expr], node: ast.AST) -> None:
        """Notes that gradients of these parameters are made of others, as far as these are seen."""
        read = [
            self.quietly(partial(self.eval, inner))
            for expression in given
            for inner in ast.walk(expression)
            if isinstance(inner, ast.Attribute) and inner.attr in GRADIENT
        ]
        sources = [value.of for value in read if isinstance(value, Gradients)]
        both = [to, *sources]
        if len(sources) < len(read) or not all(p.keys or p.of for p in both):
            self.note(GradientsCopied, self.at(node))
            return
        keys, optimizers = (
            NO_KEYS.union(*(p.keys for p in both)),
            NO_KEYS.union(*(p.of for p in both)),
        )
        self.note(GradientsCopied, self.at(node), keys, optimizers)

    def _norm(self, node: ast.Call) -> Known | None:
        """`torch.norm(p.grad, 2)`: the same as `p.grad.norm(2)`; None for what is no gradient."""
        held = self.quietly(lambda: self.eval(node.args[0]))
        return self._of_gradients(held, "norm", node) if isinstance(held, Gradients) else None

    def _whatever_the_scale(self, node: ast.AST) -> bool:
        """Is it divided by the scale, or asked only whether it is finite?"""
        return bool(SCALE_MATTERS_NOT.search(self.scope.module.text(node)))

    def _divides_them(self, norm: ast.AST) -> bool:
        """Is a gradient divided by it? The direction that this gives is the same in any unit."""
        around = self.scope.node or self.scope.module.tree
        names = {
            target.id
            for given in ast.walk(around)
            if isinstance(given, ast.Assign) and any(n is norm for n in ast.walk(given.value))
            for target in given.targets
            if isinstance(target, ast.Name)
        }
        for division in ast.walk(around):
            match division:
                case ast.BinOp(left, ast.Div(), right) if "grad" in ast.unparse(left):
                    by = list(ast.walk(right))
                    if any(n is norm or (isinstance(n, ast.Name) and n.id in names) for n in by):
                        return True
        return False

    def _note_units(self, node: ast.AST) -> None:
        """Where the file puts things into the unit of scaled gradients, nobody knows which."""
        if self.scope.module.says_anywhere(TIMES_THE_SCALE):
            self.note(ScaledUnits, self.at(node))

    def _surely_made(self, keys: frozenset[str]) -> bool:
        """Does the code make all of these itself, and not ask whether they have a gradient?"""
        if self.guarded:
            return False
        for key in keys:
            made = self.store.get(key) or self.store.get(_KEY_PARTS.split(key)[0])
            if not isinstance(made, Thing) or not (made.leaf or made.built or made.cls):
                return False
        return bool(keys)

    def _foreach(self, name: str, node: ast.Call) -> Known:
        """`torch._foreach_zero_(gradients)`: what is done to each, done to all at once."""
        first = self.eval(node.args[0])
        for argument in node.args[1:]:
            self.eval(argument)
        if isinstance(first, Gradients):
            keys, optimizer, leaf = named_by(first.of)
            if name == "_foreach_zero_":
                self.emit(Clears(self.at(node), keys, optimizer, leaf, to_none=False))
            else:
                self.emit(Edits(self.at(node), keys, optimizer, leaf, "change"))
        elif isinstance(first, Parameters) and self.reads_gradient(node):
            self.spend_by_hand(node, first)
        return PLAIN

    def _clip(self, arguments: Arguments, node: ast.Call) -> None:
        changes = not self._only_measures(arguments, node)
        self._note_units(node)
        for value in arguments.positional[:2]:
            if isinstance(value, Parameters) and value.of and not value.keys:
                self.emit(Clips(self.at(node), optimizer=min(value.of), changes=changes))
                return
            if isinstance(value, Optimizer):
                self.emit(Clips(self.at(node), optimizer=value.name, changes=changes))
                return
        first = arguments.get(0, "parameters")
        keys = self.keys_of(first) if first is not None else NO_KEYS
        self.emit(Clips(self.at(node), keys, changes=changes))

    def _only_measures(self, arguments: Arguments, node: ast.Call) -> bool:
        """`clip_grad_norm_(parameters, float("inf"))`: for the norm that it gives."""
        limit = arguments.get(1, "max_norm")
        if isinstance(limit, Constant) and isinstance(limit.value, int | float):
            return limit.value >= HUGE
        given = [*node.args[1:2], *(k.value for k in node.keywords if k.arg == "max_norm")]
        return any(INFINITE.search(ast.unparse(value)) for value in given)

    def _of_items(self, items: Items, name: str, node: ast.Call) -> Known:
        arguments = self.arguments(node)
        if name in ("append", "add") and arguments.positional:
            self._put_into(node, arguments.positional[0])
            return PLAIN
        if name == "extend" and arguments.positional:
            self._put_into(node, arguments.positional[0])
            return PLAIN
        if name == "clear":
            self.release(kept_in(items), node)
            return PLAIN
        if name in ("values", "copy"):
            return Items(items.values)
        if name == "items":
            pairs = zip(items.names, items.values, strict=False)
            return Items(tuple(Items((key_of(name), value)) for name, value in pairs))
        if name == "keys":
            return PLAIN
        if name in ("get", "pop") and items.names:
            key = arguments.get(0, "")
            if isinstance(key, Constant) and (value := items.at(key.value)) is not None:
                return value
        if name == "pop" and items.values:
            return items.values[-1]
        return UNKNOWN

    def _put_into(self, node: ast.Call, value: Known) -> None:
        """A list gets one more: parameters, optimizers, losses with their graph."""
        assert isinstance(node.func, ast.Attribute)
        target = node.func.value
        held = self.eval(target)
        values = held.values if isinstance(held, Items) else ()
        kept = NO_PLACES if self.may_be_a_number(node.args[0]) else self._keep(value, node, target)
        if kept:
            value = replace(value, kept=value.kept | kept) if isinstance(value, Thing) else value
        if isinstance(held, Thing) and isinstance(value, Thing):
            # Nobody knows what was in it, nor which of it will be taken out.
            made = self.computed(held, value, sure=False)
            maybe = made.maybe | made.reach
            self.rebind(target, replace(made, key=held.key, reach=NO_KEYS, maybe=maybe))
        elif isinstance(value, Optimizer) and not value.name:
            self._put_optimizer(target, held, value)
        elif len(values) < 8 and value not in values:
            if isinstance(value, Thing):  # it stays there when the next round comes
                value = replace(value, passes=NO_PLACES)
            self.rebind(target, Items((*values, value)))

    def _put_optimizer(self, target: ast.expr, held: Known, new: Optimizer) -> None:
        """`optimizers.append(Adam(…))`: in a loop, one stands for all that it makes."""
        shown = ast.unparse(target)
        if self.loops and held == Items(()):
            self.rebind(target, self._register(replace(new, name=shown)))
        elif isinstance(held, Items) and len(held.values) < 8:
            named = self._register(replace(new, name=f"{shown}[{len(held.values)}]"))
            self.rebind(target, Items((*held.values, named)))

    def may_be_a_number(self, value: ast.expr) -> bool:
        """Is it one of several things that a call gives, of which some have no graph?"""
        raise NotImplementedError

    def _keep(self, value: Known, node: ast.AST, target: ast.expr) -> Places:
        if not self.loops or not isinstance(value, Thing) or not value.sure or value.plain:
            return NO_PLACES
        name = value.key.rpartition(".")[2].rpartition(":")[2]
        if name not in self.backwarded() and "loss" not in name.lower():
            return NO_PLACES  # tensors are kept for many reasons; losses for their value alone
        if value.key and any(
            name.startswith(value.key + "[") and is_plain(held) for name, held in self.store.items()
        ):
            return NO_PLACES  # a part of it was detached
        if self.is_of_this_batch(target):
            return NO_PLACES
        holder = last_name(target)
        if holder and f"{holder}.pop" in self.scope.module.source:
            return NO_PLACES  # what is put into it is taken out again
        return frozenset({self.keep_loss(value, node)})

    def keep_loss(self, value: Thing, node: ast.AST) -> Place:
        """A loss is put there with its graph."""
        at = self.at(node)
        self.emit(Keep(at, "loss"))
        if self._is_surely_recorded(value):
            self.recorded[at] = value, self.scope, self.loops[-1].node
        return at

    def _is_surely_recorded(self, value: Thing) -> bool:
        """Are all nets that it was made by in sight, and is nothing that may switch them off?"""
        if self.grad_in_doubt or value.by_name or not (value.sure and value.reach):
            return False
        loop = self.loops[-1]
        if value.depth != len(self.loops) or not loop.is_of_all_data(self.loops[:-1]):
            return False
        if loop.node is None or hands_on(loop.node):
            return False
        frozen = any(within(net, key) for net in value.reach for key in self.frozen)
        return not frozen and not any(
            self.says_of(net, words) for net in value.reach for words in (CUTS, NO_GRADIENTS)
        )

    def says_of(self, key: str, words: Pattern) -> bool:
        """Is it a model of the project's own, whose class says one of these words?"""
        model = self.store.get(key)
        cls = model.cls if isinstance(model, Thing) else None
        return cls is not None and cls.module.says(words, cls.node)
