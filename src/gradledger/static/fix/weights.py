"""The cure of a loss that is divided twice."""

from __future__ import annotations

import re

from gradledger.static.fix.calls import method, only_call, plain
from gradledger.static.fix.edits import Edit, Edits
from gradledger.static.fix.fault import Fault
from gradledger.static.source import syntax as ast

_DIVIDED = re.compile(r"[ \t]*/[ \t]*")


def divide_once(fault: Fault) -> Edits | None:
    """GL303: `backward(loss / accumulate)` without the division.

    Only inside of the call: a loss that is divided before may be logged as well. Only by what is
    named after the accumulation: another number may weigh the loss on purpose.
    """
    call = only_call(fault.statement)
    if call is None or not method(call).endswith("backward") or not call.args:
        return None
    loss = call.args[0]
    if not isinstance(loss, ast.BinOp) or not isinstance(loss.op, ast.Div):
        return None
    if (loss.lineno, loss.col_offset) != (fault.finding.at.line, fault.finding.at.column):
        return None
    divisor = plain(loss.right)
    if divisor is None or "accum" not in divisor.rpartition(".")[2].lower():
        return None
    script = fault.script
    end = script.end(loss.left)
    if not _DIVIDED.fullmatch(script.text, end, script.start(loss.right)):
        return None
    return (Edit(end, script.end(loss), ""),)
