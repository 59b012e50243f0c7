"""Zips what the browser needs of the package, and the entry that it calls."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from pathlib import Path

from website.layout import ROOT

PACKAGE = ROOT / "src" / "gradledger"
ENTRY = Path(__file__).with_name("entry.py")
NEEDED = ("cli", "ledger", "plays", "policy", "report", "rules", "static")
"""Folders of the package; those below them that check and plays can't reach are left out."""
UNREACHED = (
    "cli/panel",
    "cli/programs",
    "report/chronicle",
    "report/comparison",
    "report/notebook",
    "report/page",
    "report/perfetto",
    "report/tables",
    "report/tensorboard",
    "rules/examples",
)
WHEN = (1980, 1, 1, 0, 0, 0)
"""The time of every file in it: the same sources make the same bytes."""


def packed() -> bytes:
    """The archive: `gradledger/…`, and the entry as `playground.py`."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, path in _files():
            info = zipfile.ZipInfo(name, WHEN)
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, path.read_bytes())
    return data.getvalue()


def _files() -> Iterator[tuple[str, Path]]:
    yield "playground.py", ENTRY
    for path in sorted(PACKAGE.rglob("*.py")):
        inside = path.relative_to(PACKAGE)
        if len(inside.parts) > 1 and inside.parts[0] not in NEEDED:
            continue
        if not any(inside.is_relative_to(folder) for folder in UNREACHED):
            yield f"gradledger/{inside.as_posix()}", path
