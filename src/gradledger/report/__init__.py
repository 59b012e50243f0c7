"""Output formats for findings: for people in a terminal, for programs, for code hosts.

`render` is the entry point. Importing this package loads only the errors, because every start of
the command line imports it.
"""

from gradledger.report.rendering import FORMATS, UnknownFormatError, render

__all__ = ["FORMATS", "UnknownFormatError", "render"]
