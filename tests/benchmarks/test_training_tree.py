from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import training_tree


def test_a_repository_is_a_folder_with_python_in_it(tmp_path: Path) -> None:
    for path in ("a/src/x.py", "b/README.md", "c/y.py"):
        (tmp_path / path).parent.mkdir(parents=True)
        (tmp_path / path).write_text("x = 1\n", encoding="utf-8")
    found = training_tree.repositories_in(tmp_path)
    assert [path.name for path in found] == ["a", "c"]


def test_a_repository_that_takes_too_long_is_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    slow, quick = tmp_path / "slow", tmp_path / "quick"
    times = {str(slow): 11.0, str(quick): 1.0}
    monkeypatch.setattr(training_tree, "_seconds", lambda command, work: times[command[-1]])
    assert training_tree.longest([quick, slow], tmp_path) == 1
    assert capsys.readouterr().out.splitlines()[1].endswith("slow")


def test_a_folder_without_repositories_is_a_mistake(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="2"):
        training_tree.main([str(tmp_path)])


def test_the_largest_repository_is_checked_again_after_each_edit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for path, text in {
        "small/a.py": "loss.backward(); optimizer.step()\n",
        "large/a.py": "x = 1\n",
        "large/b.py": "loss.backward(); optimizer.step()\n",
    }.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text, encoding="utf-8")
    work = tmp_path / "place" / "work"
    work.mkdir(parents=True)
    seen: list[tuple[bool, str]] = []

    def seconds(command: list[str], folder: Path) -> float:
        seen.append(("--no-cache" in command, (folder / "b.py").read_text(encoding="utf-8")))
        return 0.4 if "edit 1" in seen[-1][1] else 0.2

    monkeypatch.setattr(training_tree, "_seconds", seconds)
    repositories = [tmp_path / "large", tmp_path / "small"]
    assert training_tree.edited(repositories, work, rounds=3) == 1
    assert "large after an edit of one file: 0.40 s" in capsys.readouterr().out
    assert not any(without for without, _ in seen)
    assert len({text for _, text in seen}) == 4
    assert "edit" not in (tmp_path / "large" / "b.py").read_text(encoding="utf-8")
