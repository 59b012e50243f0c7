"""The arguments of the Stepper: what the loop does besides, and what it is called."""

from __future__ import annotations

from collections.abc import Iterator

from gradledger.ledger.tuples import NamedTuple
from gradledger.static.adopt.cycle import Cycle
from gradledger.static.adopt.loss import Loss
from gradledger.static.adopt.names import models, scaler_of, stays, value_of
from gradledger.static.adopt.refusal import NotAdopted
from gradledger.static.adopt.sites import Site
from gradledger.static.adopt.window import Window
from gradledger.static.domain.values import Scheduler
from gradledger.static.fix.calls import calls, method, plain
from gradledger.static.fix.script import Statement
from gradledger.static.ir.effects import Clips
from gradledger.static.source import syntax as ast

LONGEST_LINE = 99


class Options(NamedTuple):
    """What the Stepper is made of, as text, and the statements that it makes superfluous."""

    model: str
    optimizer: str
    arguments: dict[str, str]
    replaced: list[Statement]
    norms: list[Statement]
    """Statements that keep the norm that clipping returns."""
    before: Statement
    """The statement before which it is made."""
    remarks: list[str]

    def code(self, indent: str, line_end: str) -> str:
        """What makes it, on one line, or on a line for each argument where that is too long."""
        options = (f"{name}={value}" for name, value in self.arguments.items())
        given = [self.model, self.optimizer, *options]
        line = f"{indent}stepper = Stepper({', '.join(given)})"
        if len(line) <= LONGEST_LINE:
            return line + line_end
        deeper = indent + ("\t" if "\t" in indent else "    ")
        lines = [
            f"{indent}stepper = Stepper(",
            *(f"{deeper}{each}," for each in given),
            f"{indent})",
        ]
        return "".join(line + line_end for line in lines)


def options(cycle: Cycle, window: Window, losses: list[Loss]) -> Options:
    """NotAdopted where one of them isn't known before the loop."""
    optimizer, scaler = _spent(cycle)
    scalers = {loss.scaler for loss in losses}
    if scalers != {scaler}:
        raise NotAdopted(
            f"the scaler of step() on line {cycle.spend.line} isn't the one that scales the loss "
            f"in the call of backward() on line {cycle.deposits[0].line}"
        )
    found = Options(_model(cycle), optimizer, {}, [], [], cycle.spend.statement, [])
    needed: list[ast.expr] = [_parsed(found.model), _parsed(optimizer)]
    if window.size is not None:
        found.arguments["accumulate"] = ast.unparse(window.size)
        needed.append(window.size)
    for name, value, tests in _clipped(cycle, found):
        if {"clip_norm", "clip_value"} & found.arguments.keys():
            raise NotAdopted("gradients are clipped twice, which a Stepper does once")
        found.arguments[name] = value
        needed += tests
    if scaler is not None:
        found.arguments["scaler"] = scaler
        needed.append(_parsed(scaler))
    schedulers = list(_scheduled(cycle, window, found))
    if schedulers:
        one = len(schedulers) == 1
        found.arguments["scheduler"] = schedulers[0] if one else f"[{', '.join(schedulers)}]"
        needed += map(_parsed, schedulers)
    return found._replace(before=_where_all_is_known(cycle, needed))


def _spent(cycle: Cycle) -> tuple[str, str | None]:
    """The names of the optimizer, and of the scaler that steps it."""
    match cycle.spend.call:
        case ast.Call(func=ast.Attribute(value=of), args=[optimized]):
            names = plain(optimized), scaler_of(cycle.root, cycle.scope, of)
            if names[1] is None:
                raise NotAdopted(f"the scaler on line {cycle.spend.line} isn't known")
        case ast.Call(func=ast.Attribute(value=of)):
            names = plain(of), None
        case _:
            names = None, None
    if names[0] is None:
        raise NotAdopted(f"the optimizer on line {cycle.spend.line} has no plain name")
    return names[0], names[1]


def _model(cycle: Cycle) -> str:
    """What the loop calls the model of the optimizer: by preference what it calls itself."""
    keys = cycle.optimizer.keys
    reached = frozenset(
        key
        for site in cycle.deposits
        for met in site.met
        for key in met.event.keys  # type: ignore[attr-defined]
    )
    called = [
        name
        for statement in cycle.script.within(cycle.loop)
        for call in calls(statement.node)
        if (name := plain(call.func)) is not None
    ]
    names = list(dict.fromkeys(models(cycle.root, cycle.scope, reached if keys is None else keys)))
    used = [name for name in names if name in called]
    if keys is None:
        names = [name for name in used if _has_parameters(cycle, name)]
        used = names
    chosen = used or names
    if not chosen:
        raise NotAdopted(
            "it isn't known what the loop calls the model whose parameters are trained"
        )
    if len(chosen) > 1 and (keys is None or len(keys) > 1 or not used):
        raise NotAdopted(
            f"the optimizer has parameters of several models ({', '.join(sorted(names))}), and a "
            "Stepper takes one: put them into one nn.ModuleList"
        )
    return chosen[0]


def _has_parameters(cycle: Cycle, name: str) -> bool:
    """True if somebody asks for its parameters: a loss function has none."""
    tree = cycle.script.tree
    return any(
        method(call) in ("parameters", "named_parameters", "train", "state_dict")
        and isinstance(call.func, ast.Attribute)
        and plain(call.func.value) == name
        for call in calls(tree)
    )


def _clipped(cycle: Cycle, found: Options) -> Iterator[tuple[str, str, list[ast.expr]]]:
    for site in cycle.clips:
        effects = [met.event for met in site.met]
        if not all(isinstance(e, Clips) and e.changes for e in effects):
            raise NotAdopted(f"line {site.line} takes the norm of gradients and clips nothing")
        keys = {k for e in effects for k in e.keys}  # type: ignore[attr-defined]
        own = cycle.optimizer.keys
        if own is not None and keys and not (keys == own or _is_whole(keys, own)):
            raise NotAdopted(f"line {site.line} clips other parameters than the optimizer's")
        if own is None:
            found.remarks.append(
                f"the norm that clips (line {site.line}) is now that of the optimizer's parameters"
            )
        name, limit = _limit(site)
        statement, value, tests = site.statement, ast.unparse(limit), [limit]
        guard = _lone_guard(cycle, statement)
        if guard is not None:
            assert isinstance(guard.node, ast.If)
            if ast.unparse(guard.node.test) != f"{value} is not None":
                value = f"{value} if {ast.unparse(guard.node.test)} else None"
            tests.append(guard.node.test)
        _take(cycle, found, site)
        yield name, value, tests


def _is_whole(keys: set[str], own: frozenset[str]) -> bool:
    return all(any(k == o or o.startswith(f"{k}.") for k in keys) for o in own) and len(keys) == 1


def _limit(site: Site) -> tuple[str, ast.expr]:
    """What clips, and at what."""
    by = {"clip_grad_norm_": "clip_norm", "clip_grad_value_": "clip_value"}.get(method(site.call))
    given = {k.arg: k.value for k in site.call.keywords}
    limit = given.pop("max_norm", None) or given.pop("clip_value", None)
    args = list(site.call.args[1:])
    if limit is None and args:
        limit = args.pop(0)
    given.pop("foreach", None)
    given.pop("parameters", None)
    kind = args.pop(0) if args else given.pop("norm_type", None)
    is_usual = kind is None or (isinstance(kind, ast.Constant) and kind.value == 2)
    if by is None or limit is None or args or given or not is_usual:
        raise NotAdopted(f"line {site.line} clips in a way that a Stepper doesn't")
    return by, limit


def _lone_guard(cycle: Cycle, statement: Statement) -> Statement | None:
    """The `if` around a statement, where that isn't the one that spends."""
    above, spend = statement.parent, cycle.spend.statement
    if statement.block is spend.block or above is None or above.node is cycle.loop:
        return None
    if above.block is not spend.block or not isinstance(above.node, ast.If) or above.node.orelse:
        raise NotAdopted(f"line {statement.node.lineno} isn't beside step()")
    return above


def _take(cycle: Cycle, found: Options, site: Site) -> None:
    """The statement goes; what keeps its result keeps the Stepper's, which is a number."""
    match site.statement.node:
        case ast.Expr():
            found.replaced.append(site.statement)
        case ast.Assign(targets=[ast.Name() | ast.Attribute() as norm], value=ast.Call()):
            for node in ast.walk(cycle.scope):
                if isinstance(node, ast.Attribute) and plain(node.value) == plain(norm):
                    raise NotAdopted(
                        f"line {node.lineno} uses the norm as a tensor, and stepper.grad_norm is a "
                        "number"
                    )
            found.norms.append(site.statement)
        case _:
            raise NotAdopted(f"the result of line {site.line} is used")


def _scheduled(cycle: Cycle, window: Window, found: Options) -> Iterator[str]:
    """The schedulers that move with each update; others stay where they are."""
    for site in cycle.schedules:
        beside = site.statement.block is cycle.spend.statement.block
        is_plain = isinstance(site.statement.node, ast.Expr) and not (
            site.call.args or site.call.keywords
        )
        assert isinstance(site.call.func, ast.Attribute)
        known = value_of(cycle.root, site.call.func.value, cycle.scope)
        name = plain(site.call.func.value)
        if not (beside and is_plain and name and isinstance(known, Scheduler)):
            continue
        if known.perhaps or known.by_metric or len(known.optimizers) != 1:
            continue
        found.replaced.append(site.statement)
        yield name


def _where_all_is_known(cycle: Cycle, needed: list[ast.expr]) -> Statement:
    """The outermost loop around, in which nothing of that is given anew."""
    script = cycle.script
    best = None
    around: Statement | None = script.of(cycle.loop)
    loops: list[ast.stmt] = []
    while around is not None and around.scope is cycle.scope:
        if isinstance(around.node, ast.For | ast.While):
            loops = [around.node]
            unsteady = [n for n in needed if not stays(n, around, loops, script)]
            if not unsteady:
                best = around
            elif best is None:
                raise NotAdopted(
                    f"{ast.unparse(unsteady[0])} isn't the same in all rounds of the loop on line "
                    f"{around.node.lineno}"
                )
            else:
                break
        around = around.parent
    assert best is not None
    return best


def _parsed(name: str) -> ast.expr:
    statement = ast.parse(name).body[0]
    assert isinstance(statement, ast.Expr)
    return statement.value
