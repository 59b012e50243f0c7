"""The signs of the small timeline are those of the page."""

from __future__ import annotations

import re
from pathlib import Path

from gradledger.report.chronicle import KINDS
from gradledger.report.notebook.signs import SIGNS

SYMBOLS = Path(__file__).parents[2] / "web" / "src" / "symbols.ts"
_SIGN = re.compile(
    r'^  (\w+): \{ path: "([^"]+)",( hollow: true,)? colour: "(\w+)", says: "([^"]+)" \},$', re.M
)


def test_each_sign_is_that_of_the_page() -> None:
    of_page = {
        kind: (path, colour, says, bool(hollow))
        for kind, path, hollow, colour, says in _SIGN.findall(SYMBOLS.read_text(encoding="utf-8"))
    }
    assert {kind: tuple(sign) for kind, sign in SIGNS.items()} == of_page
    assert tuple(SIGNS) == KINDS
