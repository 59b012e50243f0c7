"""The panel at work in real terminals, with made-up facts: no torch, so these are quick."""

from __future__ import annotations

import os
import pty
import re
import signal
import subprocess
import sys
import termios
import textwrap
import tty
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gradledger.cli.panel.facts import Facts, Lane
from gradledger.cli.panel.panel import Panel
from gradledger.cli.panel.screen import Screen
from tests.cli.panel.terminal import Glass, Terminal

WITHOUT = """\
import os, sys

def wait():
    with open("go", "rb", buffering=0) as go:
        go.read(1)

def steps(number):
    pass
"""
WITH = """\
import atexit, time
from gradledger.cli.panel.facts import Facts, Lane
from gradledger.cli.panel.panel import Panel

taken = 0
panel = Panel.at_hand()
atexit.register(panel.end)
panel.begin(lambda: Facts("train.py", 7.0, (Lane("opt", taken),)))

def steps(number):
    global taken
    taken = number
"""
CHATTER = """
print("begin")
for number in range(60):
    print(f"\\rbar {number:2} [{'#' * (number // 4):15}]", end="", flush=True)
    if number % 4 == 0:
        print(f"\\nline {number}", file=sys.stderr)
print()
steps(11)
wait()
os.write(1, b"a direct write, and then dots: ")
for _ in range(100):
    os.write(2, b".")
print("\\nend")
"""


class Stage:
    """Programs that wait for a word, and terminals to run them in."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        os.mkfifo(folder / "go")
        # Open for both ends: neither side waits for the other to open it.
        self._go = os.open(folder / "go", os.O_RDWR)

    def go(self) -> None:
        os.write(self._go, b"!")

    def run(
        self, body: str, *, columns: int = 60, rows: int = 20, live: bool = True, no_color: str = ""
    ) -> Terminal:
        (self.folder / "program.py").write_text(
            WITHOUT + (WITH if live else "") + textwrap.dedent(body)
        )
        kept = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "PYTHONUNBUFFERED")}
        return Terminal(
            [sys.executable, "program.py"],
            at=self.folder,
            columns=columns,
            rows=rows,
            environment={**kept, "TERM": "xterm", "NO_COLOR": no_color},
        )

    def close(self) -> None:
        os.close(self._go)


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    made = Stage(tmp_path)
    yield made
    made.close()


def shows(steps: int, rows: int = 20) -> Callable[[Glass], bool]:
    """Is the panel, with so many steps, in the last rows, and nowhere else?"""

    def seen(glass: Glass) -> bool:
        title, heads, lane = glass.rows[-3:]
        return (
            glass.lines == rows
            and title.startswith("── gradledger · train.py · no findings so far ──")
            and heads.split() == ["optimizer", "steps", "steps/s", "window"]
            and lane.split()[:2] == ["opt", str(steps)]
            and sum("gradledger ·" in row for row in glass.transcript) == 1
        )

    return seen


def is_back(glass: Glass) -> bool:
    """All of the terminal scrolls, and no panel is on it."""
    return glass.scrolling() is None and "gradledger ·" not in "".join(glass.transcript)


def colours(received: bytes) -> list[bytes]:
    return re.findall(rb"\x1b\[(?!0m)[0-9;]*m", received)


def test_a_script_looks_the_same_above_the_panel_and_without_it(stage: Stage) -> None:
    with stage.run(CHATTER, live=False) as plain:
        stage.go()
        plain.finish()
    with stage.run(CHATTER) as live:
        live.until(shows(11), "panel")
        assert live.glass.scrolling() == (0, 16)
        stage.go()
        assert live.finish() == 0
    assert "line 56" in "".join(plain.glass.transcript)
    assert live.glass.transcript == plain.glass.transcript
    assert live.glass.position == plain.glass.position
    assert is_back(live.glass)


def test_a_traceback_stands_there_as_ever(stage: Stage) -> None:
    body = "steps(3)\nwait()\nraise RuntimeError('out of luck')"
    with stage.run(body) as live:
        live.until(shows(3), "panel")
        stage.go()
        assert live.finish() == 1
    assert live.glass.transcript[0] == "Traceback (most recent call last):"
    assert live.glass.transcript[-1] == "RuntimeError: out of luck"
    assert is_back(live.glass)


def test_ctrl_c_gives_the_terminal_back(stage: Stage) -> None:
    with stage.run("steps(3)\nwait()") as live:
        live.until(shows(3), "panel")
        live.type(b"\x03")
        assert live.finish() == -signal.SIGINT
    assert live.glass.transcript[-1] == "KeyboardInterrupt"
    assert is_back(live.glass)


@pytest.mark.parametrize("end", ["SIGKILL", "SIGTERM"])
def test_who_is_killed_leaves_a_whole_terminal(end: str, stage: Stage) -> None:
    with stage.run("print('alive')\nsteps(3)\nwait()") as live:
        live.until(shows(3), "panel")
        os.kill(live.pid, getattr(signal, end))
        assert live.wait() == -getattr(signal, end)
        live.until(is_back, "whole terminal")
        assert live.glass.transcript == ["alive"]
        assert live.glass.position == (0, 1)


def test_who_becomes_another_program_leaves_it_a_whole_terminal(stage: Stage) -> None:
    body = """
    steps(3)
    wait()
    os.execv(sys.executable, [sys.executable, "-c", "open('go', 'rb', buffering=0).read(1)"])
    """
    with stage.run(body) as live:
        live.until(shows(3), "panel")
        stage.go()
        live.until(is_back, "whole terminal")
        stage.go()
        assert live.finish() == 0


def test_a_forked_child_does_not_paint_and_its_end_clears_nothing(stage: Stage) -> None:
    body = """
    steps(3)
    wait()
    child = os.fork()
    steps(99 if not child else 4)
    if child:
        os.waitpid(child, 0)
        print("the child has ended")
        steps(5)
        wait()
    """
    with stage.run(body) as live:
        live.until(shows(3), "panel")
        stage.go()
        live.until(shows(5), "panel")
        assert live.glass.transcript[0] == "the child has ended"
        assert " 99 " not in live.received.decode()
        # Nor has it dismissed the guard.
        os.kill(live.pid, signal.SIGKILL)
        live.until(is_back, "whole terminal")


def test_the_panel_follows_the_size_of_the_window(stage: Stage) -> None:
    with stage.run("print('a line')\nsteps(3)\nwait()\nprint('the next')\nwait()") as live:
        live.until(shows(3), "panel")
        for columns, rows in ((80, 30), (56, 12), (60, 20)):
            live.resize(columns, rows)
            live.until(shows(3, rows), f"panel in {rows} rows")
            assert live.glass.scrolling() == (0, rows - 4)
        stage.go()
        live.until(lambda glass: "the next" in glass.rows, "next line")
        stage.go()
        live.finish()
    assert live.glass.transcript == ["a line", "the next"]


@pytest.mark.parametrize("size", [(20, 20), (60, 8)], ids=str)
def test_a_small_window_has_room_for_the_script_only(size: tuple[int, int], stage: Stage) -> None:
    with stage.run("print('a line')\nsteps(3)\nwait()", columns=size[0], rows=size[1]) as live:
        live.until(lambda glass: "a line" in glass.rows, "line")
        live.resize(60, 20)
        live.until(shows(3), "panel")
        live.resize(*size)
        live.until(is_back, "whole terminal")
        live.resize(60, 20)
        live.until(shows(3), "panel")
        live.resize(*size)
        live.until(is_back, "whole terminal")
        stage.go()
        live.finish()
    assert live.glass.transcript == ["a line"]


def test_who_wants_no_colour_gets_none(stage: Stage) -> None:
    for no_color in ("", "1"):
        with stage.run("steps(3)\nwait()", no_color=no_color) as live:
            live.until(shows(3), "panel")
            assert bool(colours(live.received)) == (not no_color)
            stage.go()
            live.finish()


def test_the_script_meets_no_thread_no_child_and_no_signal(stage: Stage) -> None:
    body = """
    import signal, threading
    steps(3)
    wait()
    print(threading.active_count(), [t.name for t in threading.enumerate()])
    try:
        print(os.waitpid(-1, os.WNOHANG))
    except ChildProcessError:
        print("no child")
    print(signal.getsignal(signal.SIGWINCH) == signal.SIG_DFL)
    """
    with stage.run(body) as live:
        live.until(shows(3), "panel")
        stage.go()
        live.finish()
    assert live.glass.transcript == ["1 ['MainThread']", "no child", "True"]


FILES = """
files = [open(f"file{number}", "wb") for number in range(20)]
wait()
panel.end()
for file in files:
    file.write(b"mine")
    file.close()
print({open(f"file{number}").read() for number in range(20)})
"""
SOCKETS = """
import socket
pairs = [socket.socketpair() for _ in range(10)]
wait()
panel.end()
for one, other in pairs:
    one.send(b"mine")
    other.send(b"mine")
print({end.recv(100).decode() for pair in pairs for end in pair})
"""


@pytest.mark.parametrize("opened", [FILES, SOCKETS], ids=["files", "sockets"])
def test_who_closes_our_descriptors_gets_the_terminal_back_and_has_their_numbers_for_itself(
    opened: str, stage: Stage
) -> None:
    with stage.run(f"steps(3)\nwait()\nos.closerange(3, 100)\n{opened}") as live:
        live.until(shows(3), "panel")
        stage.go()
        live.until(is_back, "whole terminal")
        stage.go()
        assert live.finish() == 0
    assert live.glass.transcript == ["{'mine'}"]


def test_output_in_a_pipe_is_byte_for_byte_the_same(stage: Stage) -> None:
    outputs = []
    for live in (False, True):
        body = f"sys.stdout = open('out{live}', 'w')\nos.dup2(sys.stdout.fileno(), 1)\n{CHATTER}"
        with stage.run(body, live=live) as terminal:
            if live:
                terminal.until(shows(11), "panel")
            stage.go()
            terminal.finish()
        outputs.append((stage.folder / f"out{live}").read_bytes())
    assert outputs[0] == outputs[1]
    assert b"a direct write" in outputs[0]


def test_who_keeps_a_log_sees_the_panel_on_the_terminal(stage: Stage) -> None:
    (stage.folder / "logged.py").write_text(
        f"{WITHOUT}{WITH}print('logged')\nsteps(3)\nwait()\nprint('too', file=sys.stderr)\n"
    )
    # Both streams are a pipe, and what comes through it is shown on the same terminal.
    shell = f"{sys.executable} logged.py 2>&1 | cat"
    body = f"os.execv('/bin/sh', ['sh', '-c', {shell!r}])"
    with stage.run(body, live=False) as live:
        live.until(shows(3), "panel")
        stage.go()
        live.finish()
    assert sorted(live.glass.transcript) == ["logged", "too"]


@pytest.mark.parametrize("term", ["dumb", "unknown", ""])
def test_a_terminal_that_can_not_be_painted_on_is_none(
    term: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", term)
    assert Screen.at_hand() is None


def test_without_a_terminal_there_is_no_panel() -> None:
    code = "from gradledger.cli.panel.panel import Panel; print(Panel.at_hand())"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "TERM": "xterm"},
        capture_output=True,
        start_new_session=True,  # which no terminal controls
        check=True,
    )
    assert done.stdout == b"None\n"


def test_whoever_reads_keys_one_by_one_has_the_screen_for_itself() -> None:
    master, slave = pty.openpty()
    try:
        os.set_blocking(master, False)
        Terminal.set_size(slave, 60, 20)
        panel = Panel(Screen(os.dup(slave)))
        panel._facts = lambda: Facts("train.py", lanes=(Lane("opt"),))
        before = termios.tcgetattr(slave)
        tty.setcbreak(slave)
        panel._paint()
        with pytest.raises(BlockingIOError):
            os.read(master, 1)
        termios.tcsetattr(slave, termios.TCSANOW, before)
        panel._paint()
        assert b"gradledger" in os.read(master, 10_000)
        panel._facts = None
        panel.end()
    finally:
        os.close(master)
        os.close(slave)


def test_a_bug_in_the_panel_is_not_the_scripts_trouble(stage: Stage) -> None:
    body = """
    steps("three")
    with panel._done:  # its thread has ended
        print(type(panel.failure).__name__)
    """
    with stage.run(body) as live:
        assert live.finish() == 0
    assert live.glass.transcript == ["ValueError"]
