"""Verdicts and findings under a cell of a notebook: HTML that brings all it needs, and text.

A notebook finds `html` and `text` by name, through `ledger.findings.Displayed`.
"""

from gradledger.report.notebook.showing import Book, View, html, text

__all__ = ["Book", "View", "html", "text"]
