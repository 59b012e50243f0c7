"""What adapters to frameworks share: who hears of a finding, and when; and who is not there."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module, invalidate_caches
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from gradledger import LawBroken, OptionError
from gradledger.integrations.framework_audit import (
    FindingWarning,
    FrameworkAudit,
    MissingFrameworkError,
    required,
)
from gradledger.ledger.findings import Finding


def train(ledger: FrameworkAudit, *, steps: int = 4) -> None:
    """A loop that never clears, with a framework's turn after each batch."""
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(steps):
        model(torch.ones(2, 4)).mean().backward()
        optimizer.step()
        ledger.tell()


def test_a_finding_is_warned_of_once() -> None:
    ledger = FrameworkAudit()
    ledger.begin()
    with pytest.warns(FindingWarning, match="GL101 spent-gradient-reused") as told:
        train(ledger)
    ledger.end()  # where a second one would be an error
    assert len(told) == 1
    assert told[0].filename == __file__, "at the user's line, not at ours"


def test_an_error_is_raised_and_ends_the_audit() -> None:
    ledger = FrameworkAudit(on_finding="raise")
    ledger.begin()
    with pytest.raises(LawBroken, match="GL101"):
        train(ledger)
    assert not ledger.is_open
    assert torch.optim.SGD.zero_grad.__module__ == "torch.optim.optimizer"


def test_a_function_is_called_with_each_finding() -> None:
    heard: list[Finding] = []
    ledger = FrameworkAudit(on_finding=heard.append)
    ledger.begin()
    train(ledger)
    ledger.end()
    assert [finding.rule for finding in heard] == ["GL101"]
    assert ledger.book is not None
    assert ledger.book.tally.steps == 4


def test_what_only_the_end_brings_is_told_at_the_end() -> None:
    heard: list[Finding] = []
    ledger = FrameworkAudit(on_finding=heard.append)
    ledger.begin()
    model, frozen = torch.nn.Linear(4, 1), torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD([*model.parameters(), *frozen.parameters()], lr=0.1)
    for _ in range(4):
        optimizer.zero_grad()
        model(torch.ones(2, 4)).mean().backward()
        optimizer.step()
        ledger.tell()
    assert heard == []
    ledger.end()
    assert [finding.rule for finding in heard] == ["GL602"]


def test_metrics_have_the_norm_of_the_last_step_once() -> None:
    ledger = FrameworkAudit(on_finding=lambda finding: None)
    ledger.begin()
    train(ledger, steps=2)
    # The gradient of a mean over equal rows of ones is one for each weight and the bias, and the
    # second step spends it twice.
    found = ledger.metrics()
    assert found == {"gradledger/grad_norm": pytest.approx(2 * 5**0.5), "gradledger/findings": 1}
    assert ledger.metrics() == {}
    ledger.end()


def test_the_report_is_written_where_the_framework_says(tmp_path: Path) -> None:
    ledger = FrameworkAudit(on_finding=lambda finding: None)
    ledger.begin(lambda: str(tmp_path / "checkpoints"))
    train(ledger)
    ledger.end()
    assert "GL101" in (tmp_path / "checkpoints" / "gradledger.html").read_text(encoding="utf-8")


def test_a_second_training_closes_what_the_first_has_left_open() -> None:
    ledger = FrameworkAudit(on_finding=lambda finding: None)
    ledger.begin()
    first = ledger.book
    ledger.begin()
    assert ledger.book is not first
    ledger.end()
    assert not ledger.is_open
    assert torch.autograd.backward.__code__.co_filename.endswith("__init__.py")


def test_a_wrong_option_is_refused_in_one_sentence() -> None:
    with pytest.raises(OptionError, match="on_finding must be 'warn', 'raise' or a function"):
        FrameworkAudit(on_finding="stop")  # type: ignore[arg-type]


def test_a_framework_that_is_missing_or_too_old_is_named_with_what_to_install() -> None:
    with pytest.raises(MissingFrameworkError) as missing:
        required("no_such_thing", least=(2,), what="this", install="no-such-thing")
    assert str(missing.value) == (
        "this needs no-such-thing, which is not installed here: pip install no-such-thing"
    )
    with pytest.raises(MissingFrameworkError) as old:
        required("pytest", least=(999, 1), what="this", install="pytest")
    assert f"this needs pytest 999.1 or newer, and {pytest.__version__} is installed" in str(
        old.value
    )


def test_a_framework_is_asked_for_its_version_before_it_is_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "oldfashioned").mkdir()
    (tmp_path / "oldfashioned" / "__init__.py").write_text("from collections import Mapping\n")
    with pytest.raises(MissingFrameworkError) as broken:
        required("oldfashioned", least=(2,), what="this", install="oldfashioned")
    assert str(broken.value).startswith("oldfashioned can't be imported here: cannot import name")
    about = tmp_path / "oldfashioned-1.9.5.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Name: oldfashioned\nVersion: 1.9.5\n")
    invalidate_caches()
    with pytest.raises(MissingFrameworkError, match=r"needs oldfashioned 2 or newer, and 1\.9\.5"):
        required("oldfashioned.new", least=(2,), what="this", install="oldfashioned")


@pytest.mark.parametrize(
    ("adapter", "module", "said"),
    [
        ("accelerate", "accelerate", "ledger(accelerator) needs accelerate 0.26 or newer"),
        ("ignite", "ignite.engine", "ledger(trainer) needs pytorch-ignite 0.4.7 or newer"),
    ],
)
def test_an_object_of_an_old_framework_is_refused_in_one_sentence(
    adapter: str, module: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = SimpleNamespace(Accelerator=int, Engine=int, Events=None)
    monkeypatch.setitem(sys.modules, module, old)
    monkeypatch.setattr("importlib.metadata.version", lambda package: "0.3.1")
    with pytest.raises(MissingFrameworkError) as refused:
        import_module(f"gradledger.integrations.{adapter}").ledger(1)
    package = said.split()[2]
    assert str(refused.value) == f"{said}, and 0.3.1 is installed: pip install -U {package}"


@pytest.mark.parametrize(
    ("adapter", "wants"),
    [
        ("accelerate", "ledger() wants an accelerate.Accelerator, got int: ledger(accelerator)"),
        ("fabric", "ledger() wants a lightning.Fabric, got int: ledger(fabric)"),
        ("ignite", "ledger() wants an ignite Engine, got int: ledger(trainer)"),
    ],
)
def test_what_is_no_object_of_the_framework_is_refused_in_one_sentence(
    adapter: str, wants: str
) -> None:
    ledger = import_module(f"gradledger.integrations.{adapter}").ledger
    with pytest.raises(OptionError) as refused:
        ledger(1)
    assert str(refused.value) == wants


def test_no_adapter_imports_its_framework() -> None:
    program = (
        "import sys\n"
        "from gradledger.integrations import accelerate, fabric, ignite, jupyter, lightning\n"
        "from gradledger.integrations import transformers\n"
        "lightning.ExactWindows, accelerate.make_stepper\n"
        "frameworks = {'accelerate', 'ignite', 'lightning', 'transformers', 'IPython', 'torch'}\n"
        "print(sorted(frameworks & set(sys.modules)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"
