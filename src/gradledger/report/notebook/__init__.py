"""Verdicts and findings in the output of a notebook cell: self-contained HTML, and text.

`ledger.findings.Displayed` calls `html` and `text` by name.
"""

from gradledger.report.notebook.showing import Book, View, html, text

__all__ = ["Book", "View", "html", "text"]
