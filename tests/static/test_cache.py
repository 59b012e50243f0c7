from __future__ import annotations

import json
import os
import shutil
import stat
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest

from gradledger.ledger import Finding, Place
from gradledger.static import budget
from gradledger.static.project.project import Project
from gradledger.static.result import Checked
from gradledger.static.runner import cache_folder as cache_folder_module
from gradledger.static.runner import file_work, one_file, own_code
from gradledger.static.runner.cache import Cache
from gradledger.static.runner.cache_folder import cache_folder, project_of
from gradledger.static.runner.runner import Result, check_paths
from gradledger.static.source.files import Source

TRAINS = "import torch\nloss.backward()\n"
HOUR = 3_600
POSIX = pytest.mark.skipif(os.name != "posix", reason="has no owners")


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
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    monkeypatch.setattr(budget, "FILES_WORTH_A_CACHE", 0)
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
    return list(check_paths(paths, roots=roots, jobs=1, cache=Cache(".")))


def cache_file() -> Path:
    (found,) = Path(cache_folder()).glob("check-*")
    return found


def rewrite(change: Callable[[Any], object]) -> None:
    """Changes what the cache remembers, and keeps its checksum right."""
    content = json.loads(cache_file().read_bytes().partition(b"\n")[2])
    change(content)
    body = json.dumps(content).encode()
    cache_file().write_bytes(b"gradledger cache 2 %08x\n" % crc32(body) + body)


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
    project = os.path.abspath(".")
    os.mkdir("sub")
    write("sub/a.py", TRAINS)
    monkeypatch.chdir("sub")
    list(check_paths(["a.py"], jobs=1, cache=Cache(project)))
    assert checker.asked == ["a.py", "b.py", "a.py"]
    monkeypatch.chdir("..")
    check(roots=("src",))
    assert checker.asked == ["a.py", "b.py", "a.py", "a.py", "b.py"]


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
        b"gradledger cache 2 00000000\n{}",
        b"gradledger cache 2 %08x\n[]" % crc32(b"[]"),
        b"gradledger cache 2 %08x\n{}" % crc32(b"{}"),
        b"gradledger cache 2 %08x\n" % crc32(b"[" * 100_000) + b"[" * 100_000,
    ],
    ids=["empty", "zeros", "wrong sum", "a list", "no key", "deep"],
)
def test_a_damaged_cache_is_ignored_with_one_line(checker: Checker, damage: bytes) -> None:
    first = check()
    cache_file().write_bytes(damage)
    assert remembered() == (first, 1)
    assert remembered() == (first, 0)  # it was written anew
    assert checker.asked == ["a.py", "b.py"] * 2


def remembered() -> tuple[list[tuple[str, Result]], int]:
    """What a run finds, and how many lines it says about the cache."""
    cache = Cache(".")
    found = list(check_paths(("a.py", "b.py", "c.py"), jobs=1, cache=cache))
    return found, len(cache.remark.splitlines())


def test_every_cut_and_every_wrong_byte_is_noticed(checker: Checker) -> None:
    first = check()
    whole = cache_file().read_bytes()
    for place in range(0, len(whole), 37):
        cache_file().write_bytes(whole[:place])
        assert check() == first
        cache_file().write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        assert check() == first


OUTSIDE = ["/proc/self/environ", 1, 0, None]


def finding_of(content: Any, path: str = "a.py") -> Any:
    return content["checked"][path][1][0][0]


def put(row: Any, index: int, value: object) -> None:
    row[index] = value


CRAFTED: dict[str, Callable[[Any], object]] = {
    "a row too short": lambda c: c["checked"].update({"a.py": [1, 2]}),
    "no row": lambda c: c["checked"].update({"a.py": None}),
    "an empty row": lambda c: c["checked"].update({"b.py": ["", [], {}]}),
    "tables of other kinds": lambda c: c.update(nothing=[], hashed=3),
    "no tables": lambda c: c.pop("checked"),
    "hashes of other kinds": lambda c: c["hashed"].update({"a.py": [1], "b.py": 7}),
    "a hash that is a list": lambda c: c["checked"]["a.py"][2].update({"x.py": []}),
    "dates that are none": lambda c: c["nothing"].update({"a.py": "x"}),
    "a date too large": lambda c: c["nothing"].update({"a.py": [10**30, 1]}),
    "carrying numbers": lambda c: c.update(carrying=[1]),
    "an unknown rule": lambda c: put(finding_of(c), 0, "GL999"),
    "a rule that is a list": lambda c: put(finding_of(c), 0, [[]]),
    "a certainty of its own": lambda c: put(finding_of(c), 3, "surely"),
    "a text that is a number": lambda c: put(finding_of(c), 2, 3),
    "cells that are lists": lambda c: put(finding_of(c), 5, [[1]]),
    "a line that is a text": lambda c: put(finding_of(c)[1], 1, "7"),
    "a line that is true": lambda c: put(finding_of(c)[1], 1, True),
    "a line that is a fraction": lambda c: put(finding_of(c)[1], 1, 1.5),
    "a line below 0": lambda c: put(finding_of(c)[1], 1, -5),
    "a line too large": lambda c: put(finding_of(c)[1], 1, 10**400),
    "a column too large": lambda c: put(finding_of(c)[1], 2, 1 << 62),
    "a count too large": lambda c: put(finding_of(c), 6, 10**30),
    "a place outside": lambda c: put(finding_of(c), 1, OUTSIDE),
    "evidence outside": lambda c: put(finding_of(c), 4, [["spent", OUTSIDE, ""]]),
    "a caller outside": lambda c: put(finding_of(c)[1], 3, OUTSIDE),
    "up and out": lambda c: put(finding_of(c)[1], 0, "../secret.py"),
    "through a link": lambda c: put(finding_of(c)[1], 0, "link.py"),
    "a cell outside": lambda c: put(finding_of(c)[1], 0, "../secret.ipynb:cell 3"),
    "a path with a NUL": lambda c: put(finding_of(c)[1], 0, "x\0.py"),
    "unknown code outside": lambda c: put(c["checked"]["a.py"][1], 1, [["/etc/x.py", 1, "", ""]]),
    "trouble outside": lambda c: put(c["checked"]["a.py"][1], 3, [["/etc/x.py", 1, ""]]),
    "calls without end": lambda c: put(finding_of(c)[1], 3, nested(900)),
    "followed that is a text": lambda c: put(c["checked"]["a.py"][1], 2, "many"),
}


def nested(depth: int) -> Any:
    way: Any = None
    for _ in range(depth):
        way = ["a.py", 1, 0, way]
    return way


@pytest.mark.parametrize("change", CRAFTED.values(), ids=CRAFTED)
def test_what_gradledger_never_writes_is_ignored_with_one_line(
    checker: Checker, change: Callable[[Any], object]
) -> None:
    Path("../secret.py").write_text("password = 1\n")
    os.symlink("../secret.py", "link.py")
    first = check()
    rewrite(change)
    assert remembered() == (first, 1)
    assert checker.asked == ["a.py", "b.py"] * 2


def test_what_another_gradledger_wrote_is_ignored_without_a_word(checker: Checker) -> None:
    first = check()
    rewrite(lambda content: content.update(code=3))
    assert remembered() == (first, 0)
    assert checker.asked == ["a.py", "b.py"] * 2


def test_a_result_that_points_out_of_the_project_is_not_kept(
    checker: Checker, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = Place("../elsewhere.py", 1)
    found = Checked((Finding("GL101", at, "words", "certain"),), (), 1)
    monkeypatch.setattr(one_file, "check_source", lambda source, project: found)
    check()
    assert json.loads(cache_file().read_bytes().partition(b"\n")[2])["checked"] == {}
    assert remembered()[1] == 0


def test_a_cache_that_came_with_the_project_changes_nothing(checker: Checker) -> None:
    first = check()
    rewrite(lambda content: content.update(checked={}, nothing={"a.py": [1, 1]}))
    os.mkdir(".gradledger_cache")
    for name in ("check-00000000", cache_file().name):
        shutil.copy(cache_file(), f".gradledger_cache/{name}")
    shutil.rmtree(cache_folder())
    assert remembered() == (first, 0)
    assert sorted(os.listdir(".gradledger_cache")) == ["check-00000000", cache_file().name]


def test_a_cache_folder_inside_the_project_is_not_used(
    checker: Checker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", os.path.abspath(".cache"))
    first = remembered()
    assert first[1] == 1
    assert remembered() == first
    assert checker.asked == ["a.py", "b.py"] * 2
    assert not os.path.exists(".cache")


def test_the_home_folder_as_a_project_has_a_cache(
    checker: Checker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache_folder_module, "_home", lambda: os.path.realpath("."))
    monkeypatch.setenv("XDG_CACHE_HOME", os.path.abspath(".cache"))
    assert remembered()[1] == 0
    remembered()
    assert checker.asked == ["a.py", "b.py"]


@POSIX
@pytest.mark.parametrize("mode", [0o777, 0o770, 0o702])
def test_a_folder_that_others_may_write_to_is_not_used(checker: Checker, mode: int) -> None:
    first = check()
    os.chmod(cache_folder(), mode)
    assert remembered() == (first, 1)
    assert checker.asked == ["a.py", "b.py"] * 2


@POSIX
def test_a_file_that_others_may_write_to_is_not_read(checker: Checker) -> None:
    first = check()
    os.chmod(cache_file(), 0o666)
    assert remembered() == (first, 1)
    assert stat.S_IMODE(os.stat(cache_file()).st_mode) == 0o600  # it was written anew
    assert remembered() == (first, 0)


@POSIX
def test_what_belongs_to_another_user_is_not_used(
    checker: Checker, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = check()
    user = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: user + 1)
    assert remembered() == (first, 1)
    assert checker.asked == ["a.py", "b.py"] * 2


@POSIX
@pytest.mark.parametrize("kind", ["a link to a folder", "a link to a file", "a pipe"])
def test_links_and_pipes_in_its_place_are_not_followed(checker: Checker, kind: str) -> None:
    first = check()
    folder, file = Path(cache_folder()), cache_file()
    if kind == "a link to a folder":
        folder.rename("elsewhere")
        folder.symlink_to(os.path.abspath("elsewhere"))
    elif kind == "a link to a file":
        file.rename("elsewhere")
        file.symlink_to(os.path.abspath("elsewhere"))
    else:
        file.unlink()
        os.mkfifo(file)
    assert remembered() == (first, 1)
    assert checker.asked == ["a.py", "b.py"] * 2


def test_where_it_can_not_be_written_nothing_fails(checker: Checker) -> None:
    Path(os.environ["XDG_CACHE_HOME"]).write_text("a file of this name")
    assert remembered() == remembered()


@POSIX
def test_its_folder_is_for_this_user_alone(checker: Checker) -> None:
    check()
    assert stat.S_IMODE(os.stat(cache_folder()).st_mode) == 0o700
    assert stat.S_IMODE(os.stat(cache_file()).st_mode) == 0o600
    tag = Path(cache_folder(), "CACHEDIR.TAG").read_text()
    assert tag.startswith("Signature: 8a477f597d28d172789f06886806bc55\n")
    assert len(os.listdir(cache_folder())) == 2
    assert sorted(os.listdir()) == ["a.py", "b.py", "c.py"]


def test_the_caches_that_were_not_used_for_longest_are_removed(checker: Checker) -> None:
    check()
    for number in range(budget.MOST_CACHES):
        write(str(Path(cache_folder(), f"check-{number}")), "", ago=HOUR + number)
    write("a.py", TRAINS + "\n", ago=HOUR / 2)
    check()
    names = {path.name for path in Path(cache_folder()).glob("check-*")}
    assert len(names) == budget.MOST_CACHES
    assert f"check-{budget.MOST_CACHES - 1}" not in names
    assert "check-0" in names


@pytest.mark.parametrize(
    ("platform", "variables", "expected"),
    [
        ("linux", {}, "~/.cache/gradledger"),
        ("linux", {"XDG_CACHE_HOME": "/var/caches"}, "/var/caches/gradledger"),
        ("linux", {"XDG_CACHE_HOME": "caches"}, "~/.cache/gradledger"),
        ("darwin", {}, "~/Library/Caches/gradledger"),
        ("win32", {"LOCALAPPDATA": "/local"}, "/local/gradledger"),
    ],
)
def test_it_is_where_the_platform_keeps_caches(
    platform: str, variables: dict[str, str], expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "platform", platform)
    assert cache_folder() == os.path.expanduser(expected)


def test_a_project_is_where_pyproject_toml_is_or_here(checker: Checker, tmp_path: Path) -> None:
    os.makedirs("sub/src/deep")
    Path("sub/pyproject.toml").touch()
    Path("sub/src/x.py").touch()
    expected = str(tmp_path / "project" / "sub")
    assert project_of("sub/src/deep") == expected
    assert project_of("sub/src/x.py") == expected
    assert project_of("sub") == expected
    assert project_of(".") == str(tmp_path / "project")


def test_few_files_are_checked_before_a_cache_is_read(
    checker: Checker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(budget, "FILES_WORTH_A_CACHE", 10)
    check()
    check()
    assert checker.asked == ["a.py", "b.py"] * 2
    assert not os.path.exists(cache_folder())


def test_names_that_are_no_text_are_remembered(checker: Checker) -> None:
    name = os.fsdecode(b"\xff.py")
    write(name, TRAINS)
    first = check(name)
    assert check(name) == first
    assert checker.asked == [name]
