"""Which function handles which node: statements and expressions, by the type of the node."""

from __future__ import annotations

from functools import lru_cache

from gradledger.static.domain.values import PLAIN, Constant, Known
from gradledger.static.lower.accelerate import (
    accelerator_backward,
    accelerator_call,
    accelerator_made,
    accumulate,
)
from gradledger.static.lower.apex import apex_made, apex_scaled_loss
from gradledger.static.lower.arithmetic import (
    eval_binary,
    eval_boolean,
    eval_comparison,
    eval_unary,
)
from gradledger.static.lower.assign import (
    call_delattr,
    call_setattr,
    run_ann_assign,
    run_assign,
    run_aug_assign,
    run_delete,
)
from gradledger.static.lower.attributes import eval_attribute
from gradledger.static.lower.branches import (
    run_break,
    run_continue,
    run_if,
    run_match,
    run_raise,
    run_return,
)
from gradledger.static.lower.calls import eval_call
from gradledger.static.lower.conditional_expressions import eval_conditional
from gradledger.static.lower.deepspeed import deepspeed_call, deepspeed_made, engine_backward
from gradledger.static.lower.expressions import (
    eval_comprehension,
    eval_dict,
    eval_dict_comprehension,
    eval_formatted,
    eval_lambda,
    eval_named,
    eval_sequence,
    eval_subscript,
)
from gradledger.static.lower.ignite import ignite_made
from gradledger.static.lower.libraries import Libraries
from gradledger.static.lower.lightning import lightning_backward, lightning_call, returned
from gradledger.static.lower.loops import run_for, run_while
from gradledger.static.lower.names import eval_name
from gradledger.static.lower.statements import run_assert, run_def, run_expression, run_import
from gradledger.static.lower.timm import timm_called, timm_made
from gradledger.static.lower.try_ import run_try
from gradledger.static.lower.with_ import run_with
from gradledger.static.source import syntax as ast

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

LIBRARIES = Libraries(
    functions={"builtins.setattr": call_setattr, "builtins.delattr": call_delattr},
    made=(deepspeed_made, accelerator_made, ignite_made, apex_made, timm_made),
    called=(timm_called,),
    methods=(accelerator_call, lightning_call, deepspeed_call),
    backward=(accelerator_backward, lightning_backward, engine_backward),
    managers={"scale_loss": apex_scaled_loss, "accumulate": accumulate},
    returned=returned,
)

STATEMENTS: dict[type[ast.stmt], Callable[[Any, Any], None]] = {
    ast.Assign: run_assign,
    ast.AnnAssign: run_ann_assign,
    ast.AugAssign: run_aug_assign,
    ast.Expr: run_expression,
    ast.Delete: run_delete,
    ast.If: run_if,
    ast.Match: run_match,
    ast.Return: run_return,
    ast.Raise: run_raise,
    ast.Assert: run_assert,
    ast.Break: run_break,
    ast.Continue: run_continue,
    ast.FunctionDef: run_def,
    ast.AsyncFunctionDef: run_def,
    ast.Import: run_import,
    ast.ImportFrom: run_import,
    ast.With: run_with,
    ast.AsyncWith: run_with,
    ast.Try: run_try,
    ast.For: run_for,
    ast.AsyncFor: run_for,
    ast.While: run_while,
}
"""What is in none of these does nothing: a class at the top level is known to its module."""

# A file says the same few again and again; 1, 1.0 and True are three.
_constant = lru_cache(maxsize=1024, typed=True)(Constant.of)

EXPRESSIONS: dict[type[ast.expr], Callable[[Any, Any], Known]] = {
    ast.Name: eval_name,
    ast.Constant: lambda machine, node: _constant(node.value),
    ast.Attribute: eval_attribute,
    ast.Subscript: eval_subscript,
    ast.Call: eval_call,
    ast.BinOp: eval_binary,
    ast.UnaryOp: eval_unary,
    ast.IfExp: eval_conditional,
    ast.BoolOp: eval_boolean,
    ast.Compare: eval_comparison,
    ast.List: eval_sequence,
    ast.Tuple: eval_sequence,
    ast.Set: eval_sequence,
    ast.Dict: eval_dict,
    ast.ListComp: eval_comprehension,
    ast.SetComp: eval_comprehension,
    ast.GeneratorExp: eval_comprehension,
    ast.DictComp: eval_dict_comprehension,
    ast.Lambda: eval_lambda,
    ast.NamedExpr: eval_named,
    ast.Await: lambda machine, node: machine.eval(node.value),
    ast.Starred: lambda machine, node: machine.eval(node.value),
    ast.JoinedStr: eval_formatted,
    ast.Slice: lambda machine, node: PLAIN,
}
