"""The ledger player as one plain script: pages also open as files, where a browser has no modules.

Its modules are in web/src/player, where the HTML report and the playground import them.
"""

from __future__ import annotations

import re

from website.layout import ROOT

FOLDER = ROOT / "web" / "src" / "player"
STYLE = FOLDER / "player.css"
FIRST = "element.js"

_IMPORT = re.compile(r'^import \{[^}]*\} from "\./([\w.]+)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export ", re.MULTILINE)


def script() -> str:
    """Every module behind those that it imports, in one function."""
    parts: dict[str, str] = {}
    _add(FIRST, parts)
    return "(() => {\n" + "\n".join(parts.values()) + "})();\n"


def _add(name: str, parts: dict[str, str]) -> None:
    if name in parts:
        return
    text = (FOLDER / name).read_text(encoding="utf-8")
    for imported in _IMPORT.findall(text):
        _add(imported, parts)
    parts[name] = _EXPORT.sub("", _IMPORT.sub("", text))
