from __future__ import annotations

from pathlib import Path
from typing import TextIO

import pytest

from gradledger.cli.delivery import to_file


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "verdict"
    path.write_text("the old one")
    path.chmod(0o640)

    def fail_half_way(stream: TextIO) -> None:
        stream.write("half")
        stream.flush()
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space"):
        to_file(str(path), fail_half_way)
    assert path.read_text() == "the old one"
    to_file(str(path), lambda stream: print("ä", file=stream))
    assert path.read_text(encoding="utf-8") == "ä\n"
    assert path.stat().st_mode & 0o777 == 0o640
    assert list(tmp_path.iterdir()) == [path]
