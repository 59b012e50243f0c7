"""Every program runs twice, with plain Python and launched by us, and sees no difference.

The auditor of these tests knows no torch. It says `VERDICT: …` when the program has ended.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import NamedTuple

import pytest

PROGRAMS = Path(__file__).parent / "programs"
DRIVER = Path(__file__).parent / "launch_driver.py"
SURROUNDINGS = "launch_surroundings.py"


class Ended(NamedTuple):
    status: int
    out: str
    err: str
    verdict: tuple[str, ...] = ()


def python(
    *words: str,
    at: Path,
    flags: tuple[str, ...] = (),
    environment: dict[str, str] | None = None,
    driver: bool = False,
) -> Ended:
    """How Python ends with this command line; with the driver, what that adds is set apart."""
    kept = {k: v for k, v in os.environ.items() if k != "PYTHONUNBUFFERED"}
    done = subprocess.run(
        [sys.executable, *flags, *([str(DRIVER)] if driver else []), *words],
        cwd=at,
        env={**kept, **(environment or {})},
        input="what stands on stdin",
        capture_output=True,
        text=True,
    )
    lines = re.sub(r"0x[0-9a-f]+", "0x…", done.stderr).splitlines(keepends=True)
    said = tuple(line[9:-1] for line in lines if line.startswith("VERDICT: "))
    err = "".join(line for line in lines if not line.startswith("VERDICT: "))
    return Ended(done.returncode, done.stdout, err, said)


def launched_as_plain(
    *words: str,
    at: Path,
    flags: tuple[str, ...] = (),
    environment: dict[str, str] | None = None,
) -> Ended:
    """How it ended with us, after a look that it is just as with plain Python."""
    plain = python(*words, at=at, flags=flags, environment=environment)
    ours = python(*words, at=at, flags=flags, environment=environment, driver=True)
    assert ours._replace(verdict=()) == plain
    return ours


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the programs, in which one can leave things."""
    for program in PROGRAMS.glob("launch_*.py"):
        shutil.copy(program, tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("way", "verdict"),
    {
        "normal": "passed",
        "none": "passed",
        "zero": "passed",
        "wrapped": "passed",  # 256, which the system cuts down to 0
        "str": "failed, died of SystemExit",
        "three": "failed, died of SystemExit",
        "minus": "failed, died of SystemExit",
        "list": "failed, died of SystemExit",
        "odd": "failed, died of SystemExit",
        "os_exit": "failed, died of SystemExit",
        "crash": "failed, died of RuntimeError",
        "base": "failed, died of BaseException",
        "broken_pipe": "failed, died of BrokenPipeError",
        "telling_hook": "failed, died of RuntimeError",
        "failing_hook": "failed, died of RuntimeError",
        "exiting_hook": "failed, died of RuntimeError",
        "ctrl_c": "failed, died of KeyboardInterrupt",
        "handled_ctrl_c": "failed, died of SystemExit",
        "thread_exit": "passed",
        "thread_crash": "passed",
        "deleted_main": "passed",
    }.items(),
    ids=str,
)
def test_a_program_ends_as_with_plain_python_and_then_comes_the_verdict(
    way: str, verdict: str, folder: Path
) -> None:
    ended = launched_as_plain("launch_ends.py", way, at=folder)
    assert ended.verdict == (verdict,)
    assert ended.out.startswith("begins\n")


@pytest.mark.parametrize("way", ["crash", "ctrl_c", "telling_hook", "three"])
def test_a_module_ends_as_with_plain_python(way: str, folder: Path) -> None:
    assert launched_as_plain("-m", "launch_ends", way, at=folder).verdict


@pytest.mark.parametrize("way", ["terminated", "killed"])
def test_a_signal_that_ends_a_program_at_once_leaves_no_time_for_a_verdict(
    way: str, folder: Path
) -> None:
    ended = launched_as_plain("launch_ends.py", way, at=folder)
    assert ended.status < 0
    assert ended.verdict == ()


@pytest.mark.parametrize("status", ["0", "2"])
def test_threads_exit_functions_and_finalizers_have_their_turn_in_the_same_order(
    status: str, folder: Path
) -> None:
    ended = launched_as_plain("launch_shutdown.py", status, at=folder)
    assert ended.out.count("\n") == 7
    assert len(ended.verdict) == 1


def test_the_verdict_comes_after_all_that_the_program_says_at_its_end(folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(DRIVER), "launch_shutdown.py", "0"],
        cwd=folder,
        env={k: v for k, v in os.environ.items() if k != "PYTHONUNBUFFERED"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    before, after = done.stdout.split("VERDICT: passed\n")
    assert before.endswith("atexit, registered first\n")
    assert "thread works on after main" in before
    assert after == "let go: global\n"  # what Python does when all is over


def test_a_status_of_ours_changes_nothing_else(folder: Path) -> None:
    plain = python("launch_shutdown.py", "0", at=folder)
    ours = python(
        "launch_shutdown.py", "0", at=folder, environment={"STATUS_IF_PASSED": "1"}, driver=True
    )
    assert (ours.status, plain.status) == (1, 0)
    assert (ours.out, ours.err) == (plain.out, plain.err)


@pytest.mark.parametrize(("way", "status"), [("three", 3), ("crash", 1), ("os_exit", 5)])
def test_a_status_of_ours_is_only_for_programs_that_passed(
    way: str, status: int, folder: Path
) -> None:
    ended = python(
        "launch_ends.py", way, at=folder, environment={"STATUS_IF_PASSED": "9"}, driver=True
    )
    assert ended.status == status


@pytest.mark.parametrize("way", ["fork", "spawn", "forkserver", "os_fork"])
def test_child_processes_are_as_with_plain_python_and_give_no_verdict(
    way: str, folder: Path
) -> None:
    assert launched_as_plain("launch_processes.py", way, at=folder).verdict == ("passed",)


def test_a_module_can_spawn_processes(folder: Path) -> None:
    assert launched_as_plain("-m", "launch_processes", "spawn", at=folder).verdict == ("passed",)


@pytest.mark.parametrize(
    "arguments", [[], ["--format", "json", "-q", "--", "-m", "x"], ["--help"], ["", " ", "ä"]]
)
def test_a_program_sees_what_plain_python_shows_it(arguments: list[str], folder: Path) -> None:
    ended = launched_as_plain(SURROUNDINGS, *arguments, at=folder)
    assert "what stands on stdin" in ended.out
    assert "DeprecationWarning: old" in ended.err


@pytest.mark.parametrize(
    "flags", [("-I",), ("-O",), ("-W", "error"), ("-X", "dev"), ("-P",), ("-B", "-u")], ids=str
)
def test_the_options_of_python_stay_in_force(flags: tuple[str, ...], folder: Path) -> None:
    if flags == ("-P",) and sys.version_info < (3, 11):
        pytest.skip("-P is new in Python 3.11")
    launched_as_plain(SURROUNDINGS, at=folder, flags=flags)
    if flags not in (("-I",), ("-P",)):  # which don't look for modules in the working directory
        launched_as_plain("-m", "launch_surroundings", at=folder, flags=flags)


@pytest.mark.parametrize(
    "path", ["./launch_surroundings.py", "../{}/launch_surroundings.py", "{}/link.py", "link.py"]
)
def test_a_script_may_be_named_in_any_way(path: str, folder: Path) -> None:
    (folder / "elsewhere").mkdir()
    (folder / "elsewhere" / "link.py").symlink_to(folder / SURROUNDINGS)
    (folder / "link.py").symlink_to(Path("elsewhere") / "link.py")
    path = path.format("elsewhere" if path.endswith("}/link.py") else folder.name)
    launched_as_plain(path, "x", at=folder)
    launched_as_plain(str(folder / path), "x", at=folder / "elsewhere")


@pytest.mark.parametrize(
    "source",
    [
        "# -*- coding: latin-1 -*-\nprint(ascii('ä'))\n1/0  # ä\n".encode("latin-1"),
        "\ufeff'''Doc.'''\nprint(__doc__, ascii('ä'))\n".encode(),
        b"#!/usr/bin/env python3\r\nprint('''a\r\nb''')\r\n",
        b"print('\\d')",  # a warning when it is compiled
        b"",
        b"import does_not_exist",
        b"from __future__ import annotations\nx: undefined = 1\nprint(__annotations__)",
        b"x: undefined = 1",
    ],
    ids=["latin", "bom", "crlf", "escape", "empty", "import", "future", "no_future"],
)
def test_source_is_read_as_python_reads_it(source: bytes, tmp_path: Path) -> None:
    (tmp_path / "script.py").write_bytes(source)
    launched_as_plain("script.py", at=tmp_path)
    launched_as_plain("script.py", at=tmp_path, flags=("-W", "always"))


def test_a_compiled_script_runs(folder: Path) -> None:
    import py_compile

    py_compile.compile(str(folder / SURROUNDINGS), cfile=str(folder / "s.pyc"))
    launched_as_plain("s.pyc", "x", at=folder)


@pytest.mark.parametrize("path", ["app", "./app/", "app.zip"])
def test_a_folder_or_zip_file_with_a_main_runs(path: str, folder: Path) -> None:
    (folder / "app").mkdir()
    shutil.copy(folder / "launch_ends.py", folder / "app" / "__main__.py")
    with zipfile.ZipFile(folder / "app.zip", "w") as archive:
        archive.write(folder / SURROUNDINGS, "__main__.py")
    launched_as_plain(path, "crash", at=folder)


@pytest.mark.parametrize("name", ["package", "package.sub.train"])
def test_a_module_of_a_package_runs_with_its_relative_imports(name: str, folder: Path) -> None:
    package = folder / "package"
    (package / "sub").mkdir(parents=True)
    (package / "__init__.py").write_text("import sys; print(sys.argv, __name__)")
    (package / "sub" / "__init__.py").touch()
    (package / "data.py").write_text("from . import __name__ as name")
    surroundings = (folder / SURROUNDINGS).read_text()
    (package / "__main__.py").write_text(surroundings + "\nfrom .data import name; print(name)")
    (package / "sub" / "train.py").write_text(surroundings + "\nfrom ..data import name; 1/0")
    launched_as_plain("-m", name, "--lr", "1", at=folder)


def test_a_command_runs_as_from_a_shell(folder: Path) -> None:
    binary = folder / "bin"
    binary.mkdir()
    command = binary / "train-it"
    command.write_text(f"#!{sys.executable}\n{(folder / SURROUNDINGS).read_text()}")
    command.chmod(0o755)
    path = {"PATH": f"{binary}{os.pathsep}{os.environ['PATH']}"}
    plain = python(str(command), "x", at=folder, environment=path)
    ours = python("train-it", "x", at=folder, environment=path, driver=True)
    assert ours == plain._replace(verdict=("passed",))


@pytest.mark.parametrize("name", ["nowhere", "package", "json.nowhere"])
def test_a_module_that_can_not_be_run_is_none_that_failed(name: str, folder: Path) -> None:
    (folder / "package").mkdir()
    (folder / "package" / "__init__.py").touch()
    ended = python("-m", name, at=folder, driver=True)
    assert f"TargetError: {name} can't be run: " in ended.err
    assert ended.verdict == ()
