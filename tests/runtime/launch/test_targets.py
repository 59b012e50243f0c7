from __future__ import annotations

import sys
from pathlib import Path

import pytest

from gradledger.runtime.launch.installed_commands import entry_point
from gradledger.runtime.launch.scripts import TargetError
from gradledger.runtime.launch.targets import find_target


def test_a_command_behind_a_shim_is_run_by_its_entry_point(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shim = tmp_path / "gradledger"
    shim.write_text("#!/bin/sh\nexec somewhere/else/gradledger\n")
    shim.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    target = find_target(["gradledger", "--nope"])
    assert target.argv == (str(shim), "--nope")
    assert target.code is not None
    monkeypatch.setattr(sys, "argv", list(target.argv))
    with pytest.raises(SystemExit) as ended:
        exec(target.code, {"__name__": "__main__"})
    assert ended.value.code == 2
    assert "has no --nope" in capsys.readouterr().err


def test_a_command_that_is_not_installed_has_no_entry_point() -> None:
    assert entry_point("not-installed-here") is None


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["nowhere.py"], "nowhere.py does not exist. It was looked for in "),
        (["nowhere"], "is neither a file in .* nor a command .* `gradledger run -m nowhere`"),
        (["sub"], "sub is a folder without a __main__.py"),
        (["data.bin"], "data.bin isn't a Python program: it is a binary file"),
        (["train.sh"], "train.sh isn't a Python program: its first line says that /bin/bash runs"),
        (["broken.py"], r"broken.py is not valid Python: line 2: "),
        (["latin.py"], "latin.py is not valid Python: .*utf-8"),
        (["old.pyc"], "old.pyc can't be run by this Python"),
        (["ls"], "ls isn't a Python program that is installed for"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_what_can_not_be_run_gets_one_sentence(
    words: list[str], why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sub").mkdir()
    (tmp_path / "data.bin").write_bytes(b"\x7fELF\0\0")
    (tmp_path / "train.sh").write_text("#!/bin/bash\npython train.py")
    (tmp_path / "broken.py").write_text("x = 1\nif x\n")
    (tmp_path / "latin.py").write_bytes("x = 'ä'".encode("latin-1"))
    (tmp_path / "old.pyc").write_bytes(b"old")
    with pytest.raises(TargetError, match=why) as refused:
        find_target(words)
    assert "\n" not in str(refused.value)


def test_a_script_that_uv_starts_is_python(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text("#!/usr/bin/env -S uv run --script\nx = 1\n")
    assert find_target([str(script)]).code is not None
