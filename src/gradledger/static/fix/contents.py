"""The bytes of a file and the text in them: edits of the one as edits of the other."""

from __future__ import annotations

from gradledger.static.fix.edits import Edits, edited
from gradledger.static.fix.script import Script
from gradledger.static.source import syntax as ast
from gradledger.static.source.files import Source, encoded, from_bytes, parse


class Content:
    """The bytes of a file that may be edited."""

    def __init__(self, path: str, data: bytes) -> None:
        self.path = path
        self.data = data
        source = from_bytes(path, data)
        self.source = source if isinstance(source, Source) else None

    def script(self) -> Script | None:
        """Its statements; None where it is no Python."""
        tree = parse(self.source) if self.source else None
        if self.source is None or not isinstance(tree, ast.Module):
            return None
        return Script(self.source.text, tree)

    def edited(self, edits: Edits) -> Content | None:
        """The same file after edits of its text; None where they can't be made in its bytes."""
        if self.source is None:
            return None
        if self.path.endswith(".ipynb"):
            from gradledger.static.fix.notebooks import edited_notebook

            data = edited_notebook(self.data, self.source, edits)
        elif encoded(self.source.text, like=self.data) != self.data:
            return None  # its encoding has two ways to write the same text
        else:
            data = encoded(edited(self.source.text, edits), like=self.data)
        return None if data is None else Content(self.path, data)
