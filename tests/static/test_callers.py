"""Files that say nothing of gradients, and have the loop around a step of another file."""

from __future__ import annotations

import ast
import os
import re
from pathlib import Path
from textwrap import dedent

import pytest

from gradledger.static.runner.cache import Cache
from gradledger.static.runner.runner import check_paths
from tests.static.programs import correct, each, faulty
from tests.static.twins.callers import STEP, TWINS

Places = set[tuple[str, str]]
"""Rules, and the lines that they are broken on."""


def written(folder: Path, text: str) -> list[str]:
    """The files that the text consists of, in a folder."""
    _, *parts = re.split(r"^# file: (.*)\n", text, flags=re.MULTILINE)
    for name, content in zip(parts[::2], parts[1::2], strict=True):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    return sorted(map(str, folder.rglob("*.py")))


def shown(files: list[str], folder: Path, cache: Cache | None = None) -> Places:
    """What a person sees who asks for nothing special."""
    found = set()
    for _, result in check_paths(files, roots=(str(folder),), jobs=1, cache=cache):
        for finding in result.checked.findings:
            if finding.certainty != "possible":
                lines = Path(finding.at.path).read_text(encoding="utf-8").split("\n")
                found.add((finding.rule, lines[finding.at.line - 1].strip()))
    return found


@each(TWINS)
def test_nothing_is_said_where_the_reason_stands(text: str, tmp_path: Path) -> None:
    assert shown(written(tmp_path, correct(text)), tmp_path) == set()


@each(TWINS)
def test_without_the_reason_the_fault_is_found(text: str, tmp_path: Path) -> None:
    program, expected = faulty(text)
    lines = program.split("\n")
    files = written(tmp_path, program)
    assert shown(files, tmp_path) == {(rule, lines[n - 1].strip()) for rule, n in expected}


BY_HAND = """
# file: loop.py
def train(net, batches, loss, optimizer):
    for x, y in batches:
        loss(net(x), y).backward()
        optimizer.step()

# file: main.py
from loop import train
from nets import Adam, Net, loss, batches

net = Net()
optimizer = Adam(net.parameters())
for epoch in range(5):
    train(net, batches, loss, optimizer)
"""


def test_of_a_net_that_may_be_written_by_hand_nothing_is_certain(tmp_path: Path) -> None:
    files = written(tmp_path, BY_HAND)
    assert shown(files, tmp_path) == set()
    written(tmp_path, "# file: main.py\nimport torch\n" + BY_HAND.partition("main.py\n")[2])
    assert shown(files, tmp_path) == {("GL101", "optimizer.step()")}


SPENT = {("GL101", "self.optimizer.step()")}
SCRIPT = dedent(TWINS["a script calls the step for each batch"])


def test_a_file_that_calls_nothing_that_trains_is_not_parsed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from gradledger.static.source import parsing

    parsed: list[str] = []
    tree = parsing.tree

    def noted(text: str, path: str) -> ast.Module:
        parsed.append(path)
        return tree(text, path)

    monkeypatch.setattr(parsing, "tree", noted)
    quiet = "# file: quiet.py\nfrom trainer import names\nfor name in names:\n    print(name)\n"
    files = written(tmp_path, correct(SCRIPT) + quiet)
    shown(files, tmp_path)
    assert {os.path.basename(path) for path in parsed} == {"main.py", "trainer.py"}


def test_a_file_that_is_named_alone_is_followed_to_the_step(tmp_path: Path) -> None:
    written(tmp_path, faulty(SCRIPT)[0])
    main = str(tmp_path / "main.py")
    ((_, result),) = check_paths([main], roots=(str(tmp_path),), named=[main])
    assert [finding.rule for finding in result.checked.findings] == ["GL101"]


IMPORTS = {
    "under another name": ("trainer.py", "from trainer import Trainer as Made", "Made"),
    "over several lines": ("trainer.py", "from trainer import (\n    Trainer,\n)", "Trainer"),
    "over two lines": ("trainer.py", "from trainer import \\\n    Trainer", "Trainer"),
    "all of it": ("trainer.py", "from trainer import *", "Trainer"),
    "as a module": ("trainer.py", "import os, trainer", "trainer.Trainer"),
    "from a folder": ("lib/trainer.py", "from lib import trainer", "trainer.Trainer"),
    "from src": ("src/lib/trainer.py", "from lib.trainer import Trainer", "Trainer"),
    "with dots": ("trainer.py", "from .trainer import Trainer", "Trainer"),
}


@pytest.mark.parametrize(("where", "line", "name"), IMPORTS.values(), ids=IMPORTS)
def test_the_step_is_found_however_it_is_imported(
    where: str, line: str, name: str, tmp_path: Path
) -> None:
    step = faulty(dedent(STEP))[0].replace("trainer.py", where)
    main = f"# file: main.py\n{line}\nmade = {name}(net)\nfor batch in loader:\n"
    files = written(tmp_path, f"{step}\n{main}    made.train_step(batch)\n")
    assert shown(files, tmp_path) == SPENT


class Remembering:
    """A project in a folder, checked again and again with a cache."""

    def __init__(self, folder: Path, text: str) -> None:
        self.folder = folder
        self.cache = folder.parent / "cache"
        written(folder, text)
        for n in range(16):  # fewer files are not remembered
            (folder / f"other{n}.py").write_text("x = 1\n", encoding="utf-8")
        self.age()

    def age(self) -> None:
        """Makes all files old enough to be trusted."""
        for path in self.folder.rglob("*.py"):
            if path.stat().st_mtime > 2_000_000:
                os.utime(path, (1_000_000 + path.stat().st_size,) * 2)

    def write(self, text: str) -> None:
        written(self.folder, text)
        self.age()

    def shown(self) -> Places:
        files = sorted(map(str, self.folder.rglob("*.py")))
        return shown(files, self.folder, Cache(str(self.folder), folder=str(self.cache)))


def remembering(tmp_path: Path, text: str) -> Remembering:
    folder = tmp_path / "project"
    folder.mkdir()
    return Remembering(folder, text)


def test_a_step_that_changes_is_seen_by_the_files_that_call_it(tmp_path: Path) -> None:
    project = remembering(tmp_path, correct(SCRIPT))
    assert project.shown() == project.shown() == set()
    project.write(faulty(dedent(STEP))[0])
    assert project.shown() == project.shown() == SPENT


def test_a_file_that_begins_to_call_a_step_is_seen(tmp_path: Path) -> None:
    # A file that never clears is told without its callers.
    clear = "\n    def forget(self):\n        self.optimizer.zero_grad()\n"
    silent = faulty(dedent(STEP))[0] + clear + "# file: main.py\nprint()\n"
    project = remembering(tmp_path, silent)
    assert project.shown() == project.shown() == set()
    project.write(faulty(SCRIPT)[0])
    assert project.shown() == project.shown() == SPENT
    project.write(silent)
    assert project.shown() == project.shown() == set()


def test_a_class_that_begins_to_train_is_seen_by_the_files_that_call_it(tmp_path: Path) -> None:
    program = faulty(dedent(TWINS["a subclass in a third file says nothing of gradients"]))[0]
    project = remembering(tmp_path, program)
    project.write("# file: trainer.py\nclass Trainer:\n    pass\n")
    assert project.shown() == project.shown() == set()
    project.write(faulty(dedent(STEP))[0])
    assert project.shown() == project.shown() == SPENT


def test_other_processes_say_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gradledger.static.budget.WORK_WORTH_A_PROCESS", 0)
    program, _ = faulty(dedent(TWINS["a class steps itself, and its base says how"]))
    files = written(tmp_path, program)
    found = [
        [
            finding.at.line
            for _, r in check_paths(files, jobs=jobs)
            for finding in r.checked.findings
        ]
        for jobs in (1, 2)
    ]
    assert found[0] == found[1] != []
