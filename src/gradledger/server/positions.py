"""Places in the code as the protocol counts them: lines from 0, and the client's units."""

from __future__ import annotations

from collections.abc import Mapping

from lsprotocol import types
from pygls.uris import from_fs_path
from pygls.workspace import PositionCodec

from gradledger.ledger.places import Place
from gradledger.report.regions import Regions
from gradledger.report.sources import LINE_BREAK
from gradledger.server.documents import Document
from gradledger.static.source.cell_places import file_and_cell


class Positions:
    """Finds places in texts, for one client."""

    def __init__(self, texts: Mapping[str, str], document: Document, codec: PositionCodec) -> None:
        self._texts = texts
        self._document = document
        self._codec = codec
        self._regions = Regions(texts)
        self._lines: dict[str, list[str]] = {}

    def location(self, place: Place) -> types.Location:
        """Where a place is, in which document."""
        return types.Location(self.uri(place), self.range(place))

    def uri(self, place: Place) -> str:
        """The address of a file, or of a cell."""
        file, cell = file_and_cell(place.path)
        if file != self._document.path:
            return from_fs_path(file) or file
        cells = self._document.cells
        return cells[cell - 1] if 0 < cell <= len(cells) else self._document.uri

    def range(self, place: Place) -> types.Range:
        """From where to where the code at a place is; the first letter without its text."""
        region = self._regions.of(place)
        if region is None:
            start = types.Position(max(place.line - 1, 0), 0)
            return types.Range(start, start)
        return types.Range(
            self._position(place.path, region.line, region.column),
            self._position(place.path, region.end_line, region.end_column),
        )

    def _position(self, path: str, line: int, column: int) -> types.Position:
        if path not in self._lines:
            self._lines[path] = LINE_BREAK.split(self._texts[path].lstrip("\ufeff"))
        before = self._lines[path][line - 1][:column]
        return types.Position(line - 1, self._codec.client_num_units(before))
