"""Compares two runs: what changed in findings, windows, norms and set-up.

`compare` compares; `lines` makes text of the result, and `document` makes JSON.
"""

from gradledger.report.comparison.as_json import document
from gradledger.report.comparison.comparing import Comparison, compare
from gradledger.report.comparison.text import lines

__all__ = ["Comparison", "compare", "document", "lines"]
