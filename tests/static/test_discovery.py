from __future__ import annotations

import inspect
import os
import sys
from pathlib import Path

import pytest

from gradledger.static.source.discovery import MissingPathError, find


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def make(*names: str) -> None:
    for name in names:
        path = Path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()


def test_python_files_and_notebooks_are_found_in_one_order(here: Path) -> None:
    make("z.py", "a/n.ipynb", "a/b/c.py", "a.py", "a/x.pyi", "a/x.pyc", "README", "b/py")
    assert find(["."]) == ["a.py", "z.py", "a/n.ipynb", "a/b/c.py"]


def test_paths_begin_as_they_were_named(here: Path) -> None:
    make("src/a.py")
    full = str(here / "src")
    assert find(["src"]) == ["src/a.py"]
    assert find(["./src/"]) == ["./src/a.py"]
    assert find([full]) == [f"{full}/a.py"]
    assert find(["src/../src"]) == ["src/../src/a.py"]


def test_a_file_that_is_named_is_checked_whatever_it_is(here: Path) -> None:
    make("script", "ignored.py", "node_modules/x.py")
    Path(".gitignore").write_text("ignored.py\n")
    named = ["script", "ignored.py", "node_modules/x.py"]
    assert find(named, exclude=["*"]) == named


def test_a_file_comes_once(here: Path) -> None:
    make("src/a.py", "src/sub/b.py")
    os.symlink("a.py", "src/link.py")
    paths = ["src/sub/b.py", "src", "./src/a.py", "src/sub", str(here / "src")]
    assert find(paths) == ["src/sub/b.py", "src/a.py"]


def test_what_does_not_exist_is_an_error(here: Path) -> None:
    with pytest.raises(MissingPathError, match=r"no file or folder none\.py"):
        find(["none.py"])


def test_links_to_folders_lead_nowhere_unless_they_are_named(here: Path) -> None:
    make("a/x.py")
    os.symlink("..", "a/up")
    os.symlink("a", "named")
    os.symlink("nowhere", "a/broken.py")
    os.symlink("self.py", "a/self.py")
    assert find(["."]) == ["a/x.py"]
    assert find(["named"]) == ["named/x.py"]


def test_a_link_that_leads_nowhere_is_in_it_when_it_is_named(here: Path) -> None:
    os.symlink("nowhere", "broken.py")
    assert find(["broken.py"]) == ["broken.py"]


def test_environments_and_the_folders_of_tools_are_left_out(here: Path) -> None:
    make(
        "mine/pyvenv.cfg", "mine/x.py", "conda/conda-meta/history", "conda/x.py",
        "node_modules/x.py", "__pycache__/x.py", ".git/x.py", ".ipynb_checkpoints/n.ipynb",
        ".tox/x.py", "build/x.py", "dist/x.py", "venv/x.py",
    )  # fmt: skip
    assert find(["."]) == ["build/x.py", "dist/x.py", "venv/x.py"]
    assert find(["mine"]) == ["mine/x.py"]


def test_what_is_ignored_can_be_named(here: Path) -> None:
    make(".git/HEAD", "out/a.py", "out/tmp/b.py", "out/c.py", "d.py")
    Path(".gitignore").write_text("out/\nout/**\ntmp\n")
    Path("out/.gitignore").write_text("c.py\n")
    assert find(["."]) == ["d.py"]
    assert find(["out"]) == ["out/a.py", "out/tmp/b.py"]


def test_what_is_written_above_the_folder_counts_in_a_repository_alone(here: Path) -> None:
    make("top/sub/a.py", "top/sub/b.py")
    Path("top/.gitignore").write_text("/sub/b.py\n")
    assert find(["top/sub"]) == ["top/sub/a.py", "top/sub/b.py"]
    make("top/.git/HEAD")
    assert find(["top/sub"]) == ["top/sub/a.py"]


def test_a_worktree_has_the_excludes_of_its_repository(here: Path) -> None:
    make("main/.git/worktrees/w/HEAD", "work/a.py", "work/b.py")
    Path("main/.git/worktrees/w/commondir").write_text("../..\n")
    make("main/.git/info/exclude")
    Path("main/.git/info/exclude").write_text("b.py\n")
    Path("work/.git").write_text(f"gitdir: {here}/main/.git/worktrees/w\n")
    assert find(["work"]) == ["work/a.py"]


def test_excluded_patterns_count_from_their_base(here: Path) -> None:
    make("src/a.py", "src/gen/b.py", "gen/c.py", "src/d_pb2.py")
    assert find(["."], exclude=["/gen", "*_pb2.py"]) == ["src/a.py", "src/gen/b.py"]
    assert find(["src"], exclude=["src/gen/"]) == ["src/a.py", "src/d_pb2.py"]
    assert find([str(here / "src")], exclude=["gen"], base="src") == [
        f"{here}/src/a.py",
        f"{here}/src/d_pb2.py",
    ]


def test_what_is_excluded_is_not_brought_back_by_git(here: Path) -> None:
    make("a.py", "b.py")
    Path(".gitignore").write_text("!a.py\n")
    assert find(["."], exclude=["a.py"]) == ["b.py"]


def test_an_excluded_folder_with_a_dot_is_known_by_its_path(here: Path) -> None:
    make(".ci/tools/a.py", ".ci/b.py")
    assert find([".ci"], exclude=["/.ci/tools"]) == [".ci/b.py"]


def test_a_very_deep_tree_is_searched(here: Path) -> None:
    # Not deeper, or pytest itself could not delete it.
    deep = "/".join(["d"] * 300)
    for depth in range(1, 301):
        os.mkdir(deep[: 2 * depth - 1])
    make(f"{deep}/x.py")
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(len(inspect.stack()) + 150)
    try:
        assert find(["."]) == [f"{deep}/x.py"]
    finally:
        sys.setrecursionlimit(limit)


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_folder_that_can_not_be_read_is_in_the_list(here: Path) -> None:
    make("closed/x.py", "open/x.py")
    os.chmod("closed", 0)
    try:
        assert find(["."]) == ["closed", "open/x.py"]
    finally:
        os.chmod("closed", 0o700)


def test_names_that_are_no_text_are_found(here: Path) -> None:
    os.close(os.open(b"\xff\n.py", os.O_CREAT))
    assert find(["."]) == [os.fsdecode(b"\xff\n.py")]


def test_pipes_are_not_waited_for(here: Path) -> None:
    os.mkfifo("pipe.py")
    assert find(["."]) == []
