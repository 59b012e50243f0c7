from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path
from zlib import crc32

import pytest

from gradledger.ledger import Finding, Place
from gradledger.static.project.project import Project
from gradledger.static.result import Checked
from gradledger.static.runner import file_work, one_file, own_code, runner
from gradledger.static.runner.cache import Cache, folder_for
from gradledger.static.runner.runner import Result, check_paths
from gradledger.static.source.files import Source

TRAINS = "import torch\nloss.backward()\n"
HOUR = 3_600


class Checker:
    """Stands for the checker: counts what it is asked to check, and reads what it is told to."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.needs: dict[str, tuple[str, ...]] = {}
        self.last = ""

    def check(self, source: Source, project: Project) -> Checked:
        self.asked.append(source.path)
        self.last = source.path
        lines = source.text.count("\n")
        for path in self.needs.get(source.path, ()):
            lines += Path(path).read_text().count("\n") * 100 if Path(path).exists() else 0
        return Checked((Finding("GL101", Place(source.path, lines), "words", "certain"),), (), 1)

    def dependencies(self) -> tuple[str, ...]:
        return self.needs.get(self.last, ())


@pytest.fixture
def checker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Checker:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(runner, "_WORTH_REMEMBERING", 0)
    found = Checker()
    monkeypatch.setattr(one_file, "check_source", found.check)
    monkeypatch.setattr(Project, "dependencies", lambda _: found.dependencies())
    write("a.py", TRAINS)
    write("b.py", TRAINS + "\n")
    write("c.py", "x = 1\n")
    return found


def write(path: str, text: str, *, ago: float = HOUR) -> None:
    Path(path).write_text(text)
    date = os.stat(path).st_mtime - ago
    os.utime(path, (date, date))


def check(*paths: str, roots: tuple[str, ...] = ()) -> list[tuple[str, Result]]:
    paths = paths or ("a.py", "b.py", "c.py")
    return list(check_paths(paths, roots=roots, jobs=1, cache=Cache(".gradledger_cache")))


def cache_file() -> Path:
    (found,) = Path(".gradledger_cache").glob("check-*")
    return found


def test_the_second_run_opens_no_file(checker: Checker, monkeypatch: pytest.MonkeyPatch) -> None:
    first = check()
    assert checker.asked == ["a.py", "b.py"]
    monkeypatch.setattr(file_work, "read_bytes", None)
    assert check() == first
    assert checker.asked == ["a.py", "b.py"]


def test_a_file_that_changes_is_checked_again(checker: Checker) -> None:
    check()
    write("a.py", TRAINS + "\n\n\n", ago=HOUR / 2)
    found = dict(check())
    assert checker.asked == ["a.py", "b.py", "a.py"]
    assert found["a.py"].checked.findings[0].at.line == 5
    check()
    assert checker.asked == ["a.py", "b.py", "a.py"]


def test_another_date_with_the_same_content_is_no_change(checker: Checker) -> None:
    first = check()
    for path in ("a.py", "b.py", "c.py"):
        write(path, Path(path).read_text(), ago=HOUR / 2)
    assert check() == first
    assert checker.asked == ["a.py", "b.py"]


def test_gradients_that_come_and_go_are_seen(checker: Checker) -> None:
    check()
    write("a.py", "x = 1\n", ago=HOUR / 2)
    write("c.py", TRAINS, ago=HOUR / 2)
    for _ in range(2):
        found = dict(check())
        assert [found[path].relevant for path in ("a.py", "b.py", "c.py")] == [False, True, True]
    assert checker.asked == ["a.py", "b.py", "c.py"]


@pytest.mark.parametrize("before", [None, "1\n"], ids=["added", "changed"])
@pytest.mark.parametrize("after", [None, "1\n2\n"], ids=["removed", "changed"])
def test_a_change_of_what_a_file_needs_is_a_change_of_it(
    checker: Checker, before: str | None, after: str | None
) -> None:
    checker.needs["a.py"] = (os.path.abspath("lib.py"),)
    if before:
        write("lib.py", before)
    check()
    check()
    assert checker.asked == ["a.py", "b.py"]
    if after:
        write("lib.py", after, ago=HOUR / 2)
    elif before:
        os.unlink("lib.py")
    found = dict(check())
    assert found["a.py"].checked.findings[0].at.line == 2 + (200 if after else 0)
    assert checker.asked == ["a.py", "b.py", *(["a.py"] if before != after else [])]


def test_what_one_file_learnt_of_a_change_another_learns_too(checker: Checker) -> None:
    checker.needs = {"a.py": ("lib.py",), "b.py": ("lib.py",)}
    write("lib.py", "1\n")
    check()
    write("lib.py", "2\n", ago=HOUR / 2)
    check("a.py")
    check("b.py")
    assert checker.asked == ["a.py", "b.py", "a.py", "b.py"]


def test_a_file_that_was_just_written_is_not_trusted(checker: Checker) -> None:
    write("a.py", TRAINS, ago=0)
    write("c.py", "x = 1\n", ago=0)
    checker.needs["b.py"] = ("lib.py",)
    write("lib.py", "1\n", ago=0)
    check()
    date = os.stat("a.py").st_mtime_ns
    Path("a.py").write_text(TRAINS.replace("loss", "cost"))  # as long as it was
    os.utime("a.py", ns=(date, date))
    check()
    assert checker.asked == ["a.py", "b.py"] * 2


def test_other_files_are_kept_and_those_that_are_gone_are_not(checker: Checker) -> None:
    check()
    write("d.py", TRAINS)
    check("d.py")
    os.unlink("b.py")
    write("e.py", "x = 2\n")
    check("a.py", "c.py", "d.py", "e.py")
    assert checker.asked == ["a.py", "b.py", "d.py"]
    content = json.loads(cache_file().read_bytes().partition(b"\n")[2])
    assert sorted(content["checked"]) == ["a.py", "d.py"]
    assert sorted(content["nothing"]) == ["c.py", "e.py"]


def test_runs_from_elsewhere_know_nothing_of_each_other(
    checker: Checker, monkeypatch: pytest.MonkeyPatch
) -> None:
    check()
    cache = os.path.abspath(".gradledger_cache")
    os.mkdir("sub")
    write("sub/a.py", TRAINS)
    monkeypatch.chdir("sub")
    list(check_paths(["a.py"], jobs=1, cache=Cache(cache)))
    assert checker.asked == ["a.py", "b.py", "a.py"]
    monkeypatch.chdir("..")
    check(roots=("src",))
    assert checker.asked == ["a.py", "b.py", "a.py", "a.py", "b.py"]


def test_a_project_that_moves_keeps_its_cache(
    checker: Checker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.makedirs("old/here")
    monkeypatch.chdir("old/here")
    write("a.py", TRAINS)
    check("a.py")
    monkeypatch.chdir("../..")
    os.rename("old", "new")
    monkeypatch.chdir("new/here")
    check("a.py")
    assert checker.asked == ["a.py"]


def test_another_gradledger_starts_anew(
    checker: Checker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "package"
    for part in own_code._PARTS:
        (package / part / "inner").mkdir(parents=True)
        (package / part / "inner" / "x.py").write_text("1")
    monkeypatch.setattr(own_code, "__file__", str(package / "static" / "running" / "own_code.py"))
    check()
    shutil.copytree(package, tmp_path / "again")  # installed again: other dates, same content
    shutil.rmtree(package)
    os.rename(tmp_path / "again", package)
    check()
    assert checker.asked == ["a.py", "b.py"]
    (package / "rules" / "inner" / "x.py").write_text("2")
    check()
    assert checker.asked == ["a.py", "b.py"] * 2


def test_another_python_starts_anew(checker: Checker, monkeypatch: pytest.MonkeyPatch) -> None:
    check()
    monkeypatch.setattr(sys, "version", "4.0")
    check()
    assert checker.asked == ["a.py", "b.py"] * 2


@pytest.mark.parametrize(
    "damage",
    [
        b"",
        b"\0" * 100,
        b"gradledger cache 1 00000000\n{}",
        b"gradledger cache 1 %08x\n[]" % crc32(b"[]"),
        b"gradledger cache 1 %08x\n{}" % crc32(b"{}"),
        b"gradledger cache 1 %08x\n" % crc32(b"[" * 100_000) + b"[" * 100_000,
    ],
    ids=["empty", "zeros", "wrong sum", "a list", "no key", "deep"],
)
def test_a_damaged_cache_is_no_cache(
    checker: Checker, damage: bytes, capfd: pytest.CaptureFixture[str]
) -> None:
    first = check()
    cache_file().write_bytes(damage)
    assert check() == first
    assert check() == first
    assert checker.asked == ["a.py", "b.py"] * 2
    assert capfd.readouterr() == ("", "")


def test_every_cut_and_every_wrong_byte_is_noticed(checker: Checker) -> None:
    first = check()
    whole = cache_file().read_bytes()
    for place in range(0, len(whole), 37):
        cache_file().write_bytes(whole[:place])
        assert check() == first
        cache_file().write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        assert check() == first


@pytest.mark.parametrize(
    "change",
    [
        {"checked": {"a.py": [1, 2]}},
        {"checked": {"a.py": None, "b.py": ["", [], {}]}},
        {"nothing": [], "hashed": 3},
        {"hashed": {"a.py": [1], "b.py": 7}},
        {"nothing": {"a.py": "x", "b.py": None}},
        {"code": 3},
    ],
    ids=lambda change: " ".join(change),
)
def test_a_cache_of_another_shape_is_no_cache(checker: Checker, change: dict[str, object]) -> None:
    first = check()
    content = json.loads(cache_file().read_bytes().partition(b"\n")[2])
    body = json.dumps({**content, **change}).encode()
    cache_file().write_bytes(b"gradledger cache 1 %08x\n" % crc32(body) + body)
    assert check() == first


def test_where_it_can_not_be_written_there_is_no_word(
    checker: Checker, capfd: pytest.CaptureFixture[str]
) -> None:
    Path(".gradledger_cache").write_text("a file of this name")
    first = check()
    assert check() == first
    assert capfd.readouterr() == ("", "")


def test_its_folder_is_nothing_that_anyone_keeps(checker: Checker) -> None:
    check()
    assert Path(".gradledger_cache/.gitignore").read_text() == "*\n"
    tag = Path(".gradledger_cache/CACHEDIR.TAG").read_text()
    assert tag.startswith("Signature: 8a477f597d28d172789f06886806bc55\n")
    assert len(os.listdir(".gradledger_cache")) == 3


def test_it_lies_beside_pyproject_toml_or_here(checker: Checker, tmp_path: Path) -> None:
    os.makedirs("project/src/deep")
    Path("project/pyproject.toml").touch()
    Path("project/src/x.py").touch()
    expected = str(tmp_path / "project" / ".gradledger_cache")
    assert folder_for("project/src/deep") == expected
    assert folder_for("project/src/x.py") == expected
    assert folder_for("project") == expected


def test_few_files_are_checked_before_a_cache_is_read(
    checker: Checker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "_WORTH_REMEMBERING", 10)
    check()
    check()
    assert checker.asked == ["a.py", "b.py"] * 2
    assert not os.path.exists(".gradledger_cache")


def test_names_that_are_no_text_are_remembered(checker: Checker) -> None:
    name = os.fsdecode(b"\xff.py")
    write(name, TRAINS)
    first = check(name)
    assert check(name) == first
    assert checker.asked == [name]
