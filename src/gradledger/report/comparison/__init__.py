"""Two runs side by side: what changed, in findings, windows, norms and set-up.

`compare` looks; `lines` says it to people, and `document` to programs.
"""

from gradledger.report.comparison.as_json import document
from gradledger.report.comparison.comparing import Comparison, compare
from gradledger.report.comparison.text import lines

__all__ = ["Comparison", "compare", "document", "lines"]
