"""Findings, ready to be read: by people in a terminal, by programs, by code hosts.

`render` is the front. Importing this package loads nothing but the errors: the command line
starts with it.
"""

from gradledger.report.rendering import FORMATS, UnknownFormatError, render

__all__ = ["FORMATS", "UnknownFormatError", "render"]
