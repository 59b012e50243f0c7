"""In a real terminal (a pty), because `isatty` is what it is about."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

if sys.platform == "win32":
    pytest.skip("there are no ptys on Windows", allow_module_level=True)

import fcntl
import pty
import struct
import termios


def in_a_terminal(*argv: str, columns: int = 80, environment: dict[str, str] | None = None) -> str:
    """What `gradledger` shows in a terminal of that width."""
    controller, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    process = subprocess.Popen(
        [sys.executable, "-m", "gradledger", *argv],
        stdout=terminal,
        env={**os.environ, **(environment or {})},
    )
    os.close(terminal)
    shown = b""
    try:
        while chunk := os.read(controller, 65536):
            shown += chunk
    except OSError:  # Linux: the last one has closed the terminal
        pass
    os.close(controller)
    assert process.wait() == 0
    return shown.decode().replace("\r\n", "\n")


def without_escapes(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", text)


def test_a_terminal_gets_colour() -> None:
    shown = in_a_terminal("rule", "GL101")
    assert "\x1b[1;31merror" in shown
    assert "\x1b[1;31m^^^^" in shown


@pytest.mark.parametrize("environment", [{"NO_COLOR": "1"}, {"TERM": "dumb"}], ids=str)
def test_who_wants_no_colour_gets_no_escape_code_at_all(environment: dict[str, str]) -> None:
    shown = in_a_terminal("rule", "GL101", environment=environment)
    assert "\x1b" not in shown
    assert "spent-gradient-reused" in shown


@pytest.mark.parametrize("columns", [60, 80, 100])
def test_prose_and_remarks_fit_the_terminal(columns: int) -> None:
    shown = without_escapes(in_a_terminal("rule", "1", "3", columns=columns))
    code = re.compile(r" +\d+ \| ")
    too_long = [line for line in shown.split("\n") if len(line) > columns and not code.match(line)]
    # Signs are as long as the code above them.
    assert [line for line in too_long if not line.rstrip().endswith(("^", "+"))] == []


def test_a_very_wide_terminal_is_not_filled() -> None:
    shown = without_escapes(in_a_terminal("rule", "GL101", columns=240))
    assert max(map(len, shown.split("\n"))) <= 100


def test_a_pipe_can_be_made_to_get_colour(monkeypatch: pytest.MonkeyPatch) -> None:
    command = [sys.executable, "-m", "gradledger", "rules"]
    environment = {**os.environ, "FORCE_COLOR": "1"}
    plain = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    colour = subprocess.run(
        command, capture_output=True, text=True, check=True, env=environment
    ).stdout
    assert "\x1b" not in plain
    assert "\x1b[1;31m" in colour
    assert [line.rstrip() for line in without_escapes(colour).split("\n")] == plain.split("\n")


def test_a_letter_that_the_encoding_lacks_does_not_stop_the_explanation() -> None:
    command = [sys.executable, "-m", "gradledger", "rule", *"123456789"]
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert (done.returncode, done.stderr) == (0, "")
