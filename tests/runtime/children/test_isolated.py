"""Which Pythons that can't be reached may train, by their command lines."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from gradledger.runtime.children.door._gradledger_door import Inheritance, _ignores_environment
from gradledger.runtime.children.isolated import may_train


@pytest.mark.parametrize(
    ("command", "ignores"),
    [
        ("python -I train.py", True),
        ("/usr/bin/python3.11 -E -m train", True),
        ("python -Sc pass", True),
        ("python -u train.py -I", False),
        ("python -m train -S", False),
        ("ls -I", False),
        ("python", False),
    ],
)
def test_what_looks_at_no_variables_is_known(command: str, ignores: bool) -> None:
    assert _ignores_environment(command.split()) == ignores


def test_one_may_train_that_names_torch(tmp_path: Path) -> None:
    trains, does_not = tmp_path / "train.py", tmp_path / "other.py"
    trains.write_text("import torch\n", encoding="utf-8")
    does_not.write_text("import json\n", encoding="utf-8")
    assert may_train(["python", "-I", str(trains)])
    assert may_train(["python", "-W", "error", "-I", str(trains)])
    assert not may_train(["python", "-I", str(does_not)])
    assert not may_train(["python", "-I", str(tmp_path / "absent.py")])


@pytest.mark.parametrize(
    ("words", "trains"),
    [
        (["-I", "-c", "import torch"], True),
        (["-I", "-c", "import sys; print(sys.version)"], False),
        (["-Im", "pip", "install", "torch"], False),
        (["-I", "-m", "venv", "torch"], False),
        (["-I", "-m", "package.train"], True),
        (["-I"], False),
    ],
)
def test_one_may_train_that_runs_what_could(words: list[str], trains: bool) -> None:
    assert may_train(["python", *words]) == trains


@pytest.mark.parametrize("module", ["child", "forks", "parent"])
def test_torch_is_not_loaded_before_the_program_does(module: str) -> None:
    code = f"import sys, gradledger.runtime.children.{module}; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_an_environment_keeps_its_order_and_what_it_says() -> None:
    told = Inheritance("/folder", "0/2/launch").added_to([b"A=1", b"PYTHONPATH=/own", b"B=x=y"])
    assert [entry.partition(b"=")[0] for entry in told[:3]] == [b"A", b"PYTHONPATH", b"B"]
    assert told[0] == b"A=1"
    assert told[1].endswith(b"/door:/own")
    assert told[2] == b"B=x=y"
    assert sorted(told[3:]) == [b"GRADLEDGER_AUDIT=/folder", b"GRADLEDGER_RANK=0/2/launch"]
