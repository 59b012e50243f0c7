"""A loop is followed if the checker finds the fault that taking its clears out makes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.peers import ROOT
from benchmarks.public_code import following
from benchmarks.public_code.__main__ import main
from benchmarks.public_code.following import (
    DOUBTED,
    FOLLOWED,
    SILENT,
    UNKNOWN,
    plant,
    plant_clears,
    read,
    states,
)
from tests.benchmarks.public_code.trees import checkout, report, repository, row

TRAINER = """\
import torch


class Trainer:
    def __init__(self, model, data):
        self.model, self.data = model, data
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def fit(self):
        for x, y in self.data:
            self.optimizer.zero_grad(
                set_to_none=True,
            )  # first
            torch.nn.functional.mse_loss(self.model(x), y).backward()
            self.optimizer.step()

    def other(self):
        self.optimizer.zero_grad()
"""
UNFOLLOWED = """\
import torch


def train(model, optimizer, data):
    for x in data:
        optimizer.zero_grad()
        model(x).sum().backward()
        elsewhere.update(optimizer)
"""


ONE_TURN = """\
import torch


def learn(net, optimizer, scaler, scheduler, x):
    optimizer.zero_grad()
    scaler.scale(net(x).mean()).backward()
    scaler.step(
        optimizer)  # here
    scaler.update()
    scheduler.step()
"""


IN_DOUBT = """\
import json, pathlib, sys
text = pathlib.Path("train.py").read_text()
found = "zero_grad" not in text and "--possible" in sys.argv
report = json.loads(REPORT)
report["findings"] = report["findings"] if found else []
print(json.dumps(report))
"""
"""A checker that finds the fault, and is not sure."""


def test_calls_that_clear_are_taken_out_of_one_function(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text(TRAINER, encoding="utf-8")
    assert plant(path, "Trainer.fit") == 1
    text = path.read_text(encoding="utf-8")
    assert text.count("zero_grad") == 1
    assert "            pass  # first\n" in text
    assert len(text.splitlines()) == len(TRAINER.splitlines())


def test_a_clear_is_put_in_front_of_the_steps_of_what_is_cleared(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text(ONE_TURN, encoding="utf-8")
    assert plant_clears(path, "learn") == 1
    text = path.read_text(encoding="utf-8")
    assert "    optimizer.zero_grad(); scaler.step(optimizer)  # here\n" in text
    assert "    scheduler.step()\n" in text
    assert len(text.splitlines()) == len(ONE_TURN.splitlines())


@pytest.mark.slow  # the checker, four times
def test_a_turn_that_leaves_the_clears_to_its_caller_is_followed(tmp_path: Path) -> None:
    repository(tmp_path / "code", "a__b", ONE_TURN)
    loops = read(listed(tmp_path, "a/b\ttrain.py\tlearn\t"))
    assert [each.state for each in states(ROOT, tmp_path / "code", loops)] == [FOLLOWED]


def test_a_function_that_is_not_there_is_named(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text(TRAINER, encoding="utf-8")
    with pytest.raises(LookupError, match="no learn in it"):
        plant(path, "Trainer.learn")


def test_the_list_of_well_known_loops_can_be_read() -> None:
    loops = read(Path(following.__file__).with_name("loops.tsv"))
    assert len(loops) == len({(loop.repository, loop.path, loop.function) for loop in loops})
    assert all(loop.repository.count("/") == 1 and loop.path.endswith(".py") for loop in loops)


def listed(folder: Path, *rows: str) -> Path:
    path = folder / "loops.tsv"
    path.write_text("\n".join(["repo\tpath\tfunction\tclears", *rows]) + "\n", encoding="utf-8")
    return path


def test_a_fault_that_is_only_possible_leaves_doubts(tmp_path: Path) -> None:
    said = json.dumps(report(row("GL101", 7, "possible")))
    tree = checkout(tmp_path / "tree", IN_DOUBT.replace("REPORT", repr(said)))
    repository(tmp_path / "code", "a__b", "def train(o):\n    o.zero_grad()\n")
    loops = read(listed(tmp_path, "a/b\ttrain.py\ttrain\t", "a/b\ttrain.py\tfit\t"))
    done = [(each.state, each.why) for each in states(tree, tmp_path / "code", loops)]
    assert done[0] == (DOUBTED, "")
    assert done[1][0] == "not here"
    assert "no fit in it" in done[1][1]


def test_the_table_of_a_page_is_written_anew_and_its_words_are_kept(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# Loops\n\nWords.\n\n" + following.HEAD + "\n| old |\n", encoding="utf-8")
    loop = following.Loop("a/b", "train.py", "", ("train.py", ""), ())
    table = list(following.told([following.State(loop, "12ab34", FOLLOWED, "", ())]))
    following.write_page(page, table)
    text = page.read_text(encoding="utf-8")
    assert text.startswith("# Loops\n\nWords.\n\n" + following.HEAD + "\n| --- ")
    assert "| a/b | `12ab34` | `train.py` `the script` | followed |  | 0 |\n" in text
    assert text.endswith("\nIn all: followed 1.\n")
    assert "| old |" not in text


@pytest.mark.slow  # the checker, eight times
def test_a_loop_is_followed_unknown_or_passed_over(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "code" / "a__b"
    folder.mkdir(parents=True)
    (folder / "COMMIT").write_text("12ab34\n", encoding="utf-8")
    (folder / "trainer.py").write_text(TRAINER, encoding="utf-8")
    (folder / "train.py").write_text(UNFOLLOWED, encoding="utf-8")
    (folder / "plain.py").write_text("def train(o):\n    o.zero_grad()\n", encoding="utf-8")
    rows = [
        "a/b\ttrainer.py\tTrainer.fit\t",
        "a/b\ttrain.py\ttrain\t",
        "a/b\tplain.py\ttrain\t",
        "a/b\ttrain.py\ttrain\ttrainer.py:Trainer.__init__",
        "c/d\ttrain.py\ttrain\t",
    ]
    path = listed(tmp_path, *rows)
    done = list(states(ROOT, tmp_path / "code", read(path)))
    expected = [FOLLOWED, UNKNOWN, SILENT, "not asked", "not here"]
    assert [each.state for each in done] == expected
    assert done[1].why.startswith("train(): ")
    assert done[0].commit == "12ab34"
    assert (folder / "trainer.py").read_text(encoding="utf-8") == TRAINER
    assert main(["followed", str(tmp_path / "code"), str(listed(tmp_path, rows[0]))]) == 0
    table = capsys.readouterr().out
    assert "| a/b | `12ab34` | `trainer.py` `Trainer.fit` | followed |  | 0 |" in table
