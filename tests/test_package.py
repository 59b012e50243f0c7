from __future__ import annotations

import os
import subprocess
import sys

import pytest

import gradledger
from gradledger.rules import find, programs

GOOD = os.path.relpath(programs.good(find("GL101")).path)


def test_the_exported_names_are_these() -> None:
    assert sorted(gradledger.__all__) == [
        "CheckpointError",
        "GradledgerError",
        "InternalError",
        "LawBroken",
        "LossError",
        "MissingTorchError",
        "MisuseError",
        "NonFiniteGradient",
        "OptionError",
        "RankFailure",
        "RecordingError",
        "Stepper",
        "StepperWarning",
        "TornUpdateError",
        "UnknownRuleError",
        "WindowNotEqual",
        "__version__",
        "assert_window_equals_batch",
        "audit",
    ]


def test_every_exported_name_is_there() -> None:
    assert all(hasattr(gradledger, name) for name in gradledger.__all__)


def test_what_is_not_there_is_an_ordinary_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = gradledger.nonsense


def test_stepper_is_itself() -> None:
    from gradledger.engine import Stepper

    assert gradledger.Stepper is Stepper


def test_assert_window_equals_batch_is_itself() -> None:
    from gradledger.runtime.window_equality import assert_window_equals_batch

    assert gradledger.assert_window_equals_batch is assert_window_equals_batch


@pytest.mark.parametrize(
    "argv",
    [
        ["-c", "import gradledger"],
        ["-m", "gradledger", "rule", "GL101"],
        ["-m", "gradledger", "rules", "--format", "json"],
        ["-m", "gradledger", "--version"],
        ["-m", "gradledger", "check", GOOD],
    ],
    ids=" ".join,
)
def test_torch_is_not_loaded_for(argv: list[str]) -> None:
    loaded = _loaded_by(argv)
    assert "gradledger" in loaded
    assert {name.split(".")[0] for name in loaded}.isdisjoint({"torch", "numpy"})


@pytest.mark.parametrize("argv", [["rules"], ["check", GOOD]], ids=" ".join)
def test_rich_is_not_loaded_where_nothing_is_coloured(argv: list[str]) -> None:
    assert not any(name.startswith("rich") for name in _loaded_by(["-m", "gradledger", *argv]))


def test_checking_a_file_loads_no_more_than_it_needs() -> None:
    heavy = {"json", "tempfile", "pathlib", "subprocess", "multiprocessing", "shutil", "tomllib"}
    heavy |= {"dataclasses", "inspect", "difflib", "sqlite3", "textwrap", "tokenize"}
    assert _loaded_by(["-m", "gradledger", "check", GOOD]).isdisjoint(heavy)


def test_importing_the_package_loads_nothing_but_its_errors() -> None:
    ours = {name for name in _loaded_by(["-c", "import gradledger"]) if "gradledger" in name}
    assert ours - {"__editable___gradledger_finder"} == {"gradledger", "gradledger.errors"}


def _loaded_by(argv: list[str]) -> set[str]:
    """Every module that Python imports on the way."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", *argv], capture_output=True, text=True, check=True
    )
    lines = (line for line in done.stderr.splitlines() if line.startswith("import time:"))
    return {line.rsplit("|", 1)[1].strip() for line in lines}
