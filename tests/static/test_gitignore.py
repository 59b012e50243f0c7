from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradledger.static import budget
from gradledger.static.source.discovery import find
from gradledger.static.source.gitignore import FOLDER, Ignores, read_ignores
from tests.examples import examples

TREE = (
    "a.py", "b.py", "ab.py", "a-b.py", "a b.py", "[a].py", "a*.py", "!a.py", "#a.py", "\\.py",
    "a/a.py", "a/b.py", "a/a/a.py", "a/a/b.py", "a/b/a.py", "b/a.py", "b/a/b.py", "b/b/b/b.py",
    "ab/a.py", "ab/ab/ab.py", "ba/a/b/a.py",
)  # fmt: skip


@pytest.mark.parametrize(
    ("pattern", "ignored", "kept"),
    [
        ("build", ["build/", "build", "a/build/", "a/build"], ["builds/", "rebuild"]),
        ("build/", ["build/", "a/build/"], ["build", "a/build"]),
        ("/build", ["build/", "build"], ["a/build"]),
        ("a/b", ["a/b", "a/b/"], ["x/a/b", "a/bb"]),
        ("*.py", ["x.py", "a/x.py", ".py"], ["x.pyi", "x.py/y"]),
        ("a/*.py", ["a/x.py"], ["a/b/x.py", "x.py"]),
        ("**/b", ["b", "a/b", "a/a/b/"], ["ab"]),
        ("a/**", ["a/b", "a/b/"], ["a/", "a"]),
        ("a/**/b", ["a/b", "a/x/b", "a/x/y/b"], ["ab", "b"]),
        ("a**b", ["ab", "axb", "x/axb"], ["a/b"]),
        ("a/b**", ["a/b", "a/bc/d"], ["a/c"]),
        ("?.py", ["a.py"], ["ab.py", ".py"]),
        ("[a-c].py", ["b.py"], ["d.py", "-.py"]),
        ("[!a-c].py", ["d.py"], ["b.py"]),
        ("[^a].py", ["b.py"], ["a.py"]),
        ("[]-].py", ["].py", "-.py"], ["a.py"]),
        ("[[:digit:]_].py", ["1.py", "_.py"], ["a.py"]),
        ("[a.py", [], ["[a.py", "a.py"]),
        (r"\#x", ["#x"], [r"\#x"]),
        (r"\!x", ["!x"], ["x"]),
        (r"x\ ", ["x "], ["x", r"x\ "]),
        ("x  ", ["x"], ["x  "]),
        ("x\r", ["x"], ["x\r"]),
        ("# x", [], ["# x", "x"]),
        ("", [], ["", "x", "/"]),
        ("/", [], ["x", "x/"]),
        ("x\\", [], ["x", "x\\"]),
    ],
)
def test_a_line_means_what_it_means_to_git(
    pattern: str, ignored: list[str], kept: list[str]
) -> None:
    ignores = Ignores([pattern])
    assert [path for path in ignored if not ignores.verdict(_marked(path))] == []
    assert [path for path in kept if ignores.verdict(_marked(path))] == []


def _marked(path: str) -> str:
    """Here a folder is written with a slash behind it."""
    return path[:-1] + FOLDER if path.endswith("/") else path


def test_the_last_line_that_matches_decides() -> None:
    ignores = Ignores(["*.py", "!keep.py", "keep.py", "!a/keep.py"])
    assert ignores.verdict("a.py") is True
    assert ignores.verdict("keep.py") is True
    assert ignores.verdict("a/keep.py") is False
    assert ignores.verdict("a.txt") is None


def test_a_file_may_have_a_byte_order_mark_and_bytes_that_are_no_text(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_bytes(b"\xef\xbb\xbfa.py\r\n\xff\xfe.py\r\nb.py")
    ignores = read_ignores(str(tmp_path / ".gitignore"))
    assert ignores is not None
    assert ignores.verdict("a.py")
    assert ignores.verdict("b.py")


def test_a_file_that_can_not_be_read_ignores_nothing(tmp_path: Path) -> None:
    assert read_ignores(str(tmp_path)) is None
    assert read_ignores(str(tmp_path / "none")) is None


@pytest.fixture(scope="module")
def repository() -> Iterator[Path]:
    if shutil.which("git") is None:
        pytest.skip("git is the oracle")
    with tempfile.TemporaryDirectory() as folder:
        top = Path(folder, "repository")
        for name in TREE:
            path = top / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
        _git(top, "init", "-q")
        yield top


def _git(top: Path, *words: str) -> str:
    alone = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null", "HOME": str(top)}
    command = ["git", "-C", str(top), *words]
    return subprocess.run(command, env=alone, check=True, capture_output=True, text=True).stdout


pieces = st.sampled_from(
    ["a", "b", "ab", "a.py", "b.py", ".py", "*", "**", "?", "/", "/", "!", "#", "\\", " ", "-", ".",
     "[ab]", "[!a]", "[a-b]", "[", "]", "[[:alpha:]]", "**/", "/**", "/**/"]
)  # fmt: skip
patterns = st.builds(
    lambda negated, parts: negated + "".join(parts),
    st.sampled_from(["", "", "!"]),
    st.lists(pieces, min_size=1, max_size=4),
)
files = st.lists(patterns, max_size=4).map("\n".join)


@examples(150)
@given(top=files, inner=files, exclude=files)
def test_the_same_files_are_found_as_git_lists(
    repository: Path, top: str, inner: str, exclude: str
) -> None:
    (repository / ".gitignore").write_text(top)
    (repository / "a" / ".gitignore").write_text(inner)
    (repository / ".git" / "info" / "exclude").write_text(exclude)
    listed = _git(repository, "ls-files", "-z", "--others", "--exclude-standard").split("\0")
    found = [Path(path).relative_to(repository).as_posix() for path in find([str(repository)])]
    assert sorted(found) == sorted(name for name in listed if name.endswith(".py"))


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("*a" * 40 + "b", "a" * 250),
        ("**/" * 30 + "x", "a/" * 200 + "y"),
        ("a*" * 30 + "/**/" + "*b" * 30 + "c", "a" * 200 + "/" + "b" * 200),
        ("?*" * 60 + "x", "y" * 250),
        ("*a" * 2_000 + "*b", "a" * 250),
        ("a" * 3_000_000, "a" * 250),
        ("?" * 300_000, "a" * 250),
        ("a" + " " * 1_000_000, "b"),
    ],
)
def test_no_pattern_takes_for_ever(pattern: str, path: str) -> None:
    """Once it took longer than the universe has been there."""
    assert Ignores([pattern]).verdict(path) is None


def test_of_a_file_without_an_end_only_the_beginning_is_read(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text("first\n" + "*a*b*c\n" * 100_000 + "last\n")
    found = read_ignores(str(tmp_path / ".gitignore"))
    assert found is not None
    assert found.verdict("first")
    assert found.verdict("last") is None


_LETTER = st.sampled_from(["a", "b", "*", "?", "/", "**/", "/**", "[ab]", "\\a"])


@given(
    st.lists(_LETTER, min_size=1, max_size=9).map("".join),
    st.text("ab/", min_size=1, max_size=12).filter(lambda path: "//" not in path),
    st.booleans(),
)
def test_many_stars_mean_what_few_do(pattern: str, path: str, folder: bool) -> None:
    """The way to match that is never slow, and the one that is quick, agree."""
    path = path.strip("/") + (FOLDER if folder else "")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(budget, "FEW_STARS", 100)
        quick = Ignores([pattern]).verdict(path)
        patch.setattr(budget, "FEW_STARS", -1)
        assert Ignores([pattern]).verdict(path) == quick


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names here")
def test_a_pipe_is_no_gitignore(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / ".gitignore")
    assert read_ignores(str(tmp_path / ".gitignore")) is None


@given(st.text("ab./*-", min_size=1, max_size=6), st.text("ab./-\n", min_size=1, max_size=7))
def test_a_plain_pattern_means_what_its_expression_does(pattern: str, path: str) -> None:
    # A letter in brackets is that letter, and makes the pattern one that is not plain.
    spelled = pattern.replace("a", "[a]").replace("b", "[b]")
    for each in (path, path + FOLDER):
        assert Ignores([pattern]).verdict(each) == Ignores([spelled]).verdict(each)
