"""Code that trains in a file of which nothing was followed: it is never called clean.

It calls a backward itself; or, in a loop, it hands its loss to something that is not found in the
project: `loss_scaler(loss, optimizer)` of timm, `trainer.step(loss)` of a library.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from gradledger.static.lower.root import THE_SCRIPT
from gradledger.static.lower.spelling import last_name
from gradledger.static.lower.unspent_gradients import Unspent
from gradledger.static.project.module import Import, Module
from gradledger.static.project.project import Project
from gradledger.static.result import Unknown
from gradledger.static.source import syntax as ast
from gradledger.static.source.patterns import Pattern
from gradledger.static.source.vocabulary import BACKWARDS, HANDS_LOSS

WHY = "no step was followed that spends what it deposits"

NO_DEPOSIT = "no deposit was followed that its step spends"

LOSS = Pattern(r"(?i)(?:^|_)loss(?:es)?(?:_|$)")
OPTIMIZER = Pattern(r"(?i)optim|^opt$|^opt_|_opt$")
TRAINS = frozenset(
    {"step", "backward", "train", "train_step", "training_step", "train_batch", "train_on_batch",
     "optimize", "optimize_step", "optimizer_step", "minimize", "fit", "fit_batch",
     "update_params"}
)  # fmt: skip
"""Methods that train, of whoever is given a loss."""
LOOKS = Pattern(
    r"(?i)sched|plateau|stop|meter|log|writer|metric|track|callback|hist|stat|bar$"
    r"|^(?:torch|np|numpy|F|nn|dist|wandb|math|tqdm)$"
)
"""Names of what looks at losses, or is known to do no more with them."""


def unfollowed(module: Module, project: Project, trained: Collection[int]) -> Iterator[Unknown]:
    """The functions in the file that leave it to others to train, and the script if it does.

    `trained`: functions in which deposits were followed, by identity.
    """
    if module.says_anywhere(HANDS_LOSS):
        for what, statement, _ in _pieces(module, module.tree.body):
            piece = module.tree if what == THE_SCRIPT else statement
            if id(piece) in trained or module.says(BACKWARDS, statement):
                continue
            call = next(_handing_over(statement, module, project), None)
            if call is not None:
                why = f"what `{ast.unparse(call.func)}()` does with the loss was not found"
                yield Unknown(module.path, statement.lineno, what, why)


def backwards(module: Module, unspent: Unspent) -> tuple[list[Unknown], int]:
    """The backward passes of a file of which nothing was followed.

    How many functions and scripts have some that nobody can spend, and where the others are.
    """
    unknown: list[Unknown] = []
    done: set[ast.AST] = set()
    for what, statement, cls in _pieces(module, module.tree.body):
        match statement:
            case ast.FunctionDef(args=ast.arguments(args=[ast.arg("ctx"), *_])):
                continue  # how to differentiate a function, and no pass over a graph
        if not any(map(_is_backward, ast.walk(statement))):
            continue
        if what == THE_SCRIPT and unspent.is_script(module):
            done.add(module.tree)
        elif what != THE_SCRIPT and unspent.is_function(module, statement, cls):
            done.add(statement)
        else:
            unknown.append(Unknown(module.path, statement.lineno, what, WHY))
    return unknown, len(done)


def steps_alone(module: Module, body: list[ast.stmt], owner: str = "") -> Iterator[Unknown]:
    """The functions of a file without a backward that clear and step: who deposits for them?

    An optimizer's own step may clear as well, and a test may step on nothing.
    """
    for statement in body:
        match statement:
            case ast.ClassDef(name=name, body=inner):
                yield from steps_alone(module, inner, f"{name}.")
            case ast.FunctionDef(name=name):
                called = set(_methods_called(statement))
                steps = called & {"step", "optimizer_step"} and not name.startswith("test")
                if steps and "zero_grad" in called and ("train" in name or "step" not in name):
                    yield Unknown(module.path, statement.lineno, f"{owner}{name}()", NO_DEPOSIT)


def _methods_called(statement: ast.stmt) -> Iterator[str]:
    for node in ast.walk(statement):
        match node:
            case ast.Call(func=ast.Attribute(attr=name)):
                yield name


def _pieces(
    module: Module, body: list[ast.stmt], cls: ast.ClassDef | None = None
) -> Iterator[tuple[str, ast.stmt, ast.ClassDef | None]]:
    """Each function, method and statement of the top level, with its name and its class."""
    for statement in body:
        if not (module.says(BACKWARDS, statement) or module.says(HANDS_LOSS, statement)):
            continue
        match statement:
            case ast.ClassDef(body=inner):
                yield from _pieces(module, inner, statement)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield f"{f'{cls.name}.' if cls else ''}{name}()", statement, cls
            case _:
                yield THE_SCRIPT, statement, None


def _is_backward(node: ast.AST) -> bool:
    match node:
        case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name)):
            return name in ("backward", "manual_backward")
    return False


def _handing_over(statement: ast.stmt, module: Module, project: Project) -> Iterator[ast.Call]:
    """The calls that get the loss, of what may train with it and is not in sight.

    In its loops; or anywhere, if it is what is called an optimizer that gets the loss.
    """
    in_loops = {
        node
        for loop in ast.walk(statement)
        if isinstance(loop, ast.For | ast.While | ast.AsyncFor)
        for node in ast.walk(loop)
    }
    for node in ast.walk(statement):
        if not (isinstance(node, ast.Call) and _may_train(node)):
            continue
        if not (node in in_loops or _is_an_optimizers(node.func)):
            continue
        if not _is_known(node.func, statement, module, project):
            yield node


def _is_an_optimizers(callee: ast.expr) -> bool:
    """Is it a method of what is called an optimizer, as in `optim_wrapper.update_params(loss)`?"""
    owner = last_name(callee.value) if isinstance(callee, ast.Attribute) else ""
    return bool(OPTIMIZER.search(owner)) and not LOOKS.search(owner)


def _may_train(call: ast.Call) -> bool:
    """Does it get a loss and an optimizer, or a loss by a method that trains?"""
    given = [_base(value) for value in (*call.args, *(k.value for k in call.keywords))]
    if not any(LOSS.search(name) for name in given):
        return False
    if any(OPTIMIZER.search(name) for name in given):
        return True
    return isinstance(call.func, ast.Attribute) and call.func.attr in TRAINS


def _base(value: ast.expr) -> str:
    """The name of what is handed over, also if it is divided or taken out of something."""
    while isinstance(value, ast.BinOp | ast.Subscript):
        value = value.left if isinstance(value, ast.BinOp) else value.value
    return last_name(value)


def _is_known(callee: ast.expr, statement: ast.stmt, module: Module, project: Project) -> bool:
    """Is what is called in sight, or known to be harmless? Then it says itself what it does."""
    first = callee
    while isinstance(first, ast.Attribute | ast.Call):
        first = first.func if isinstance(first, ast.Call) else first.value
    if not isinstance(first, ast.Name):
        return True
    name, asked = first.id, last_name(callee)
    if name == "self":
        owners = (d for d in module.definitions.values() if isinstance(d, ast.ClassDef))
        return any(asked in module.methods(owner) for owner in owners)
    made = _made_by(name, statement, module)
    if any(LOOKS.search(said) for said in (name, asked, made)):
        return True
    definition = module.definitions.get(made or name)
    if not isinstance(definition, Import):
        return definition is not None and not isinstance(definition, ast.expr)
    found = project.imported(module, definition.module, definition.level)
    if found is None:
        found = project.imported(module, definition.inside.module, definition.level)
    return found is not None


def _made_by(name: str, statement: ast.stmt, module: Module) -> str:
    """The class or function whose result has this name: `NativeScaler` of `NativeScaler()`."""
    for node in (*ast.walk(statement), *module.tree.body):
        match node:
            case ast.Assign(targets=[ast.Name(id=target)], value=ast.Call(func=made)):
                if target == name:
                    while isinstance(made, ast.Attribute):
                        made = made.value
                    return last_name(made)
    return ""
