"""Findings that are certain after all, by what is known of the paths around them."""

from __future__ import annotations

from gradledger.ledger.findings import Finding
from gradledger.ledger.values import replace
from gradledger.static.ir.program import Program
from gradledger.static.solve.interpreter import Interpreter


def raised(
    finding: Finding, program: Program, options: set[str], interpreter: Interpreter
) -> Finding:
    """The finding, which is certain also where a clear may find nothing of what it drops else.

    Or where a sum cannot have outlived a step before there was one, or a flush ends a window early.
    """
    if finding.rule not in ("GL204", "GL502", "GL603", "GL701") or finding.certainty == "certain":
        return finding
    if finding.rule != "GL204":
        from gradledger.static.certainty.outliving import SURE

        sure = SURE[finding.rule](finding, program)
        return replace(finding, certainty="certain") if sure else finding
    from gradledger.static.certainty.wasting import is_always_wasted

    met = interpreter.met_by((finding.rule, finding.at))
    sure = is_always_wasted(finding, program, options, met)
    return replace(finding, certainty="certain") if sure else finding
