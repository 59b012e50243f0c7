from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from gradledger import __version__, cli
from gradledger.errors import GradledgerError


def test_without_a_command_the_help_is_on_stderr_and_the_status_is_2(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert cli.main([]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "gradledger demo" in err


def test_the_help_of_a_command_is_the_docstring_of_its_file(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name in cli.COMMANDS:
        module = cli.command(name)
        with pytest.raises(SystemExit) as ended:
            cli.main([name, "--help"])
        assert ended.value.code == 0
        assert module.__doc__ is not None
        assert module.__doc__.strip() in capsys.readouterr().out


def test_the_help_lists_the_commands(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.main(["--help"])
    listed = capsys.readouterr().out
    assert all(f"\n    {name} " in listed for name in cli.COMMANDS)


def test_the_version_is_that_of_the_package(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(["--version"])
    assert ended.value.code in (0, None)
    assert capsys.readouterr().out == f"gradledger {__version__}\n"


@pytest.mark.parametrize(
    "argv",
    [["rul"], ["rules", "--format", "yaml"], ["rule"], ["rule", "GL101", "--nonsense"], ["--nope"]],
    ids=" ".join,
)
def test_a_command_line_that_makes_no_sense_gets_one_line(
    argv: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(argv) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("gradledger: ")
    assert err.count("\n") == 1
    assert "--help" in err


def test_an_error_of_gradledger_is_one_line_and_no_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object) -> None:
        raise GradledgerError("the ink is out. Buy some.")

    monkeypatch.setattr("gradledger.cli.rules._listing", fail)
    assert cli.main(["rules"]) == 2
    assert capsys.readouterr().err == "gradledger: the ink is out. Buy some.\n"


def test_a_bug_is_not_dressed_up_as_an_error_of_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("gradledger.cli.rules._listing", fail)
    with pytest.raises(ZeroDivisionError):
        cli.main(["rules"])


@pytest.mark.parametrize("colour", ["", "1"])
def test_a_closed_pipe_is_silent(colour: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", colour)
    process = _start("rules")
    assert process.stdout is not None
    process.stdout.close()
    _, err = process.communicate()
    assert err == ""
    assert process.returncode == 141


def test_ctrl_c_ends_the_tour_quietly_with_130() -> None:
    process = _start("demo")
    assert process.stdout is not None
    process.stdout.readline()
    process.send_signal(signal.SIGINT)
    _, err = process.communicate()
    assert err == ""
    assert process.returncode == 130


def test_ctrl_c_while_a_class_is_made_ends_with_130_too(tmp_path: Path) -> None:
    (tmp_path / "interrupted.py").write_text(
        "from gradledger import cli\n"
        "cli._run = lambda argv: exec('raise KeyboardInterrupt')\n"
        "cli.start()\n"
    )
    done = subprocess.run([sys.executable, "-m", "interrupted"], cwd=tmp_path, check=False)
    assert done.returncode == 130


def _start(*argv: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "gradledger", *argv],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_what_a_check_means_without_options_is_what_its_parser_makes_of_it() -> None:
    from gradledger.cli import check
    from gradledger.cli.parsing import parser_for

    parsed = vars(parser_for(["check"]).parse_args(["check", "a.py", "b"]))
    plain = {**check.DEFAULTS, "paths": ["a.py", "b"]}
    assert parsed == {**plain, "run": check.run, "version": None}


def test_a_check_without_options_loads_no_parser(tmp_path: Path) -> None:
    (tmp_path / "plain.py").write_text("print()\n")
    argv = [sys.executable, "-X", "importtime", "-m", "gradledger", "check", "plain.py"]
    done = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "Nothing to check: there are no gradients in plain.py." in done.stdout
    assert "gradledger.cli.check" in done.stderr
    assert "argparse" not in done.stderr


SMALL = """\
import torch

model = torch.nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in data:
    loss = torch.nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""

LOADED = """\
import sys
from gradledger.cli import main

assert main(["check", "small.py"]) == 0
print(*sys.modules)
"""


def test_a_check_of_a_small_file_loads_little(tmp_path: Path) -> None:
    (tmp_path / "small.py").write_text(SMALL)
    argv = [sys.executable, "-c", LOADED]
    done = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, check=True)
    loaded = set(done.stdout.splitlines()[-1].split())
    assert not loaded & {"argparse", "ast", "dataclasses", "inspect", "json", "pathlib", "typing"}
    assert not loaded & {"enum", "re"}, "no pattern is asked about a plain loop"
    assert not loaded & {f"gradledger.{name}" for name in ("ledger.book", "static.fix.fix")}
    ours = {name for name in loaded if name.startswith("gradledger.")}
    rules = {name[17:22] for name in ours if name.startswith("gradledger.rules.gl")}
    assert {"gl101", "gl201"} <= rules
    assert not rules & {"gl401", "gl501", "gl503", "gl606", "gl803", "gl901"}, "nothing asks these"
    assert len(ours) <= 185, "each file takes its time: see what has to be loaded for a plain loop"


def test_a_check_that_ends_at_once_has_said_all_and_keeps_its_status(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("def\n")
    argv = [sys.executable, "-m", "gradledger", "check", "broken.py"]
    done = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "broken.py:1: not checked" in done.stderr
    assert "1 file not checked" in done.stdout


def test_a_profiler_sees_the_end_of_a_check(tmp_path: Path) -> None:
    (tmp_path / "plain.py").write_text("print()\n")
    argv = [sys.executable, "-m", "cProfile", "-m", "gradledger", "check", "plain.py"]
    done = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "function calls" in done.stdout
