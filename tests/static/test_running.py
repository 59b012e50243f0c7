from __future__ import annotations

import gc
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from gradledger.ledger import Finding, Place
from gradledger.static.project.project import Project
from gradledger.static.result import Checked
from gradledger.static.runner import one_file
from gradledger.static.runner.runner import Result, check_bytes, check_paths
from gradledger.static.source.files import Source

TRAINS = "import torch\nloss.backward()\n"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def a_finding(source: Source, project: Project) -> Checked:
    """Stands for the checker: one finding, which tells the length of the file."""
    place = Place(source.path, source.text.count("\n"))
    return Checked((Finding("GL101", place, "words", "certain"),), followed=1)


def results(*paths: str, **options: object) -> dict[str, Result]:
    return dict(check_paths(paths, **options))  # type: ignore[arg-type]


def test_results_come_in_the_order_of_the_files(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(one_file, "check_source", a_finding)
    names = [f"{n}.py" for n in range(40)]
    for n, name in enumerate(names):
        Path(name).write_text(TRAINS + "\n" * n if n % 3 else "x = 1\n")
    told: list[tuple[int, int]] = []
    found = list(check_paths(names, jobs=1, progress=lambda done, of: told.append((done, of))))
    assert [path for path, _ in found] == names
    for n, (path, result) in enumerate(found):
        places = [finding.at for finding in result.checked.findings]
        assert places == ([Place(path, n + 2)] if n % 3 else [])
        assert result.relevant == bool(n % 3)
    assert told[-1] == (40, 40)
    assert told == sorted(told)


def test_a_file_that_can_not_be_read_or_parsed_is_one_trouble(here: Path) -> None:
    Path("good.py").write_text(TRAINS)
    Path("old.py").write_text(TRAINS + "print loss\n")
    Path("bytes.py").write_bytes(TRAINS.encode() + b"'\xe9'\n")
    found = results("none.py", "old.py", ".", "good.py", "bytes.py")
    troubles = {path: [t.line for t in result.troubles] for path, result in found.items()}
    assert troubles == {"none.py": [0], "old.py": [3], ".": [0], "good.py": [], "bytes.py": [3]}


def test_a_broken_file_without_gradients_is_told_where_it_was_named(here: Path) -> None:
    Path("a.py").write_text("print 'x'\n")
    Path("b.py").write_text("x = 1\n")
    found = results("a.py", "b.py", named=["a.py", "b.py"])
    assert [t.line for t in found["a.py"].troubles] == [1]
    assert found["b.py"] == Result(relevant=False)
    assert not found["a.py"].relevant
    assert results("a.py") == {"a.py": Result(relevant=False)}


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (KeyError("x\ny"), "gradledger has a bug: KeyError: 'x\\ny'. Please report it"),
        (RecursionError("deep"), "nested too deeply"),
        (MemoryError(), "nested too deeply"),
        (AssertionError(), "gradledger has a bug: AssertionError"),
    ],
)
def test_a_fault_of_ours_in_one_file_is_told_and_not_the_end(
    here: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, words: str
) -> None:
    def check(source: Source, project: Project) -> Checked:
        if source.path == "b.py":
            raise error
        return a_finding(source, project)

    monkeypatch.setattr(one_file, "check_source", check)
    for name in "abc":
        Path(f"{name}.py").write_text(TRAINS)
    found = results("a.py", "b.py", "c.py")
    assert [len(result.checked.findings) for result in found.values()] == [1, 0, 1]
    (unknown,) = found["b.py"].checked.unknown
    assert unknown[:3] == ("b.py", 1, "the whole file")
    assert words in unknown.why


def test_bytes_are_checked_as_a_file_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(one_file, "check_source", a_finding)
    assert len(check_bytes("<stdin>", TRAINS.encode()).checked.findings) == 1
    assert [t.line for t in check_bytes("<stdin>", b"x = 1\nprint x\n").troubles] == [2]


ONLY_TALKS = "import torch\n# no loss.backward() here\nprint 'x'\n"


def test_a_file_that_only_talks_of_gradients_is_not_parsed(here: Path) -> None:
    Path("talks.py").write_text(ONLY_TALKS)
    assert results("talks.py")["talks.py"].troubles == ()


def test_unless_somebody_named_it(here: Path) -> None:
    Path("talks.py").write_text(ONLY_TALKS)
    found = results("talks.py", named=["talks.py"])
    assert [trouble.line for trouble in found["talks.py"].troubles] == [3]


def test_the_collector_rests_while_files_are_checked_and_is_then_as_it_was(here: Path) -> None:
    for name in ("a.py", "b.py"):
        Path(name).write_text(TRAINS)
    assert gc.isenabled()
    assert [gc.isenabled() for _ in check_paths(["a.py", "b.py"], jobs=1)] == [False, False]
    assert gc.isenabled()


PARALLEL = """
import os, signal, sys
from gradledger.ledger import Finding, Place
from gradledger.static import budget
from gradledger.static.runner import file_work, one_file, runner
from gradledger.static.result import Checked
from gradledger.static.runner.runner import check_paths
budget.WORK_WORTH_A_PROCESS = budget.FILES_WORTH_A_PROCESS = 0
parent = os.getpid()

def check_source(source, project):
    assert os.getpid() != parent
    if source.path == "7.py":
        os.kill(os.getpid(), signal.SIGKILL)
    if source.path == "9.py":
        1 / 0
    return Checked((Finding("GL101", Place(source.path, 1), "words", "certain"),), followed=1)

one_file.check_source = check_source
names = [f"{n}.py" for n in range(100)]
"""


def parallel(program: str) -> str:
    command = [sys.executable, "-W", "error", "-c", PARALLEL + textwrap.dedent(program)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert done.stderr == ""
    return done.stdout.strip()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no other way to spread")
def test_several_processes_say_the_same_as_one(here: Path) -> None:
    for n in range(100):
        Path(f"{n}.py").write_text(TRAINS if n % 2 else "x = 1\n")
    assert (
        parallel("""
        found = list(check_paths(names, jobs=3))
        assert [path for path, _ in found] == names
        print(sum(len(result.checked.findings) for _, result in found))
        print([trouble for _, result in found for trouble in result.troubles])
        print([unknown.path for _, result in found for unknown in result.checked.unknown])
    """)
        == "48\n[Trouble(path='7.py', line=0, message='the process that checked it was ended by "
        "signal 9; is there enough memory?')]\n['9.py']"
    )


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no other way to spread")
def test_whoever_stops_early_leaves_no_process(here: Path) -> None:
    for n in range(100):
        Path(f"{n}.py").write_text(TRAINS)
    assert (
        parallel("""
        for path, result in check_paths(names, jobs=2):
            break
        del result
        import gc
        gc.collect()
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            print("none")
    """)
        == "none"
    )


MISUSE = Path(__file__).parents[1] / "runtime" / "misuse"
"""Frameworks, in whose programs there is not always a word of gradients."""


def test_a_file_found_in_a_folder_is_told_what_it_is_told_by_name() -> None:
    paths = sorted(str(path) for path in MISUSE.glob("*.py"))

    def findings(found: dict[str, Result]) -> dict[str, list[tuple[str, int]]]:
        return {
            Path(path).name: [(f.rule, f.at.line) for f in result.checked.findings]
            for path, result in found.items()
        }

    one_by_one = [findings(results(path, named=[path], jobs=1)) for path in paths]
    named = {name: found for each in one_by_one for name, found in each.items()}
    assert named["lightning_divides_twice.py"]
    assert findings(results(*paths, jobs=1)) == named


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names here")
def test_an_import_that_leads_to_a_device_or_a_pipe_is_not_read(here: Path) -> None:
    (here / "endless.py").symlink_to("/dev/zero")
    os.mkfifo(here / "waits.py")
    text = "from endless import a\nfrom waits import b\nimport torch\na()\nb()\nloss.backward()\n"
    (here / "train.py").write_text(text, encoding="utf-8")
    for _ in range(2):  # the second time with what the first has remembered
        assert set(results("train.py")) == {"train.py"}
