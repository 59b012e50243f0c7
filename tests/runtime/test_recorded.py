"""A recording has all that a report needs, also when the program was killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.optim import SGD

import gradledger
from gradledger import Stepper
from gradledger.recording import Recording, Remark, Series
from gradledger.runtime.audit import Audit
from gradledger.runtime.backward.backwards import Backwards
from gradledger.runtime.outputs.event_writer import this_run
from gradledger.runtime.outputs.measurements import Measured


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run.gradledger"


def remarks(path: Path, *topics: str) -> dict[str, str]:
    with Recording(path) as recording:
        return {remark.name: remark.text for remark in recording.remarks(*topics)}


def turn(model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    optimizer.zero_grad()
    model(torch.ones(2, 3)).sum().backward()
    optimizer.step()


# Names ---------------------------------------------------------------------------------------


def test_what_was_run_is_in_it(path: Path) -> None:
    with Audit(record=path, subject="train.py"):
        pass
    assert remarks(path, "subject") == {"": "train.py"}


def test_an_audit_inside_code_has_no_other_name_than_its_script(path: Path) -> None:
    with gradledger.audit(record=path):
        pass
    assert remarks(path) == {}


def test_the_command_says_what_was_run_and_all_remarks_survive_a_kill(tmp_path: Path) -> None:
    program = """
        import os, signal, sqlite3, torch
        net = torch.nn.Linear(3, 1)
        class Trainer: pass
        trainer = Trainer()
        trainer.opt = torch.optim.SGD(net.parameters(), lr=0.1)
        net(torch.ones(2, 3)).sum().backward()
        trainer.opt.step()
        wait = "SELECT count(*) FROM moments JOIN facts ON fact = id WHERE kind = 'Step'"
        file = sqlite3.connect("run.gradledger", timeout=60)
        while not file.execute(wait).fetchone()[0]:
            pass
        os.kill(os.getpid(), signal.SIGKILL)
    """
    (tmp_path / "train.py").write_text(textwrap.dedent(program), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "gradledger", "run", "--record", "run.gradledger", "train.py"],
        cwd=tmp_path,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        timeout=120,
    )
    assert done.returncode == -signal.SIGKILL
    with Recording(tmp_path / "run.gradledger") as recording:
        assert not recording.ended
        assert recording.remarks() == (
            Remark("subject", "", "train.py"),
            Remark("called", "optimizer-1", "trainer.opt"),
        )
        assert recording.sources() == {str(tmp_path / "train.py"): textwrap.dedent(program)}


def test_the_names_that_the_program_gives_its_optimizers_are_in_it(path: Path) -> None:
    g, d = nn.Linear(3, 1), nn.Linear(3, 1)
    opt_g, unused = SGD(g.parameters(), lr=0.1), SGD(d.parameters(), lr=0.1)
    with gradledger.audit(record=path):
        g(torch.ones(2, 3)).sum().backward()
        opt_g.step()
    assert remarks(path, "called") == {"optimizer-1": "opt_g"}
    assert unused.param_groups


def test_a_steppers_optimizers_are_called_what_the_program_calls_them(path: Path) -> None:
    net = nn.Linear(3, 1)
    outer = SGD(net.parameters(), lr=0.1)
    with gradledger.audit(record=path):
        stepper = Stepper(net, outer)
        for _ in stepper.over(range(2)):
            stepper.backward(net(torch.ones(2, 3)).sum())
    assert remarks(path, "called") == {"optimizer-1": "outer"}


def test_scalers_and_schedulers_are_called_what_the_program_calls_them(path: Path) -> None:
    net = nn.Linear(3, 1)
    opt, grad_scaler = SGD(net.parameters(), lr=0.1), torch.amp.GradScaler("cpu")
    warmup = torch.optim.lr_scheduler.ConstantLR(opt)
    with gradledger.audit(record=path) as book:
        grad_scaler.scale(net(torch.ones(2, 3)).sum()).backward()
        grad_scaler.step(opt)
        grad_scaler.update()
        warmup.step()
        grad_scaler.scale(net(torch.ones(2, 3)).sum()).backward()
        grad_scaler.unscale_(opt)
        with pytest.raises(RuntimeError, match="already"):
            grad_scaler.unscale_(opt)
    called = {"scaler-1": "grad_scaler", "optimizer-1": "opt", "scheduler-1": "warmup"}
    assert remarks(path, "called") == called == book.names
    (twice,) = (found for found in book.findings if found.rule == "GL405")
    assert twice.detail == "grad_scaler has already unscaled opt"


def test_an_optimizer_that_never_steps_is_called_by_its_name_too(path: Path) -> None:
    net, scaler = nn.Linear(3, 1), torch.amp.GradScaler("cpu")
    opt = SGD(net.parameters(), lr=0.1)
    with gradledger.audit(record=path) as book:
        scaler.scale(net(torch.ones(2, 3)).sum()).backward()
        scaler.unscale_(opt)
        with pytest.raises(RuntimeError, match="already"):
            scaler.unscale_(opt)
    assert [found.detail for found in book.findings] == ["scaler has already unscaled opt"]


# Trouble -------------------------------------------------------------------------------------


def test_a_bug_of_ours_is_in_it_as_the_verdict_has_it(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> Any:
        raise ZeroDivisionError("a bug of ours")

    net = nn.Linear(3, 1)
    optimizer = SGD(net.parameters(), lr=0.1)
    with gradledger.audit(record=path) as book:
        turn(net, optimizer)
        monkeypatch.setattr(Backwards, "_tell", broken)
        turn(net, optimizer)
        monkeypatch.setattr(Backwards, "_prepare", broken)
        turn(net, optimizer)
    trouble = book.verdict("a test").trouble
    assert "ZeroDivisionError" in trouble
    assert remarks(path, "trouble") == {"": trouble}


# Sources -------------------------------------------------------------------------------------


def test_the_source_of_every_place_is_in_it_though_nothing_was_found(path: Path) -> None:
    net = nn.Linear(3, 1)
    optimizer = SGD(net.parameters(), lr=0.1)
    with gradledger.audit(record=path) as book:
        for _ in range(3):
            turn(net, optimizer)
    assert book.findings == ()
    with Recording(path) as recording:
        assert {recorded.event.at.path for recorded in recording.events()} == {__file__}
        assert recording.sources() == {__file__: Path(__file__).read_text(encoding="utf-8")}


# Measures ------------------------------------------------------------------------------------


def test_a_number_that_comes_late_keeps_the_event_that_it_is_of(path: Path) -> None:
    net = nn.Linear(3, 1)
    optimizer = SGD(net.parameters(), lr=0.1)
    with gradledger.audit(record=path) as book:
        turn(net, optimizer)
        turn(net, optimizer)
        assert book._writer is not None
        book._writer.measured(Measured("late", "optimizer-1", 1, 2, 5.0, {"w": 3.0}))
    with Recording(path) as recording:
        late = [Series("late", "optimizer-1", cell) for cell in ("", "w")]
        assert [(m.step, m.event, m.value) for m in recording.measures(*late)] == [
            (1, 2, 5.0),
            (1, 2, 3.0),
        ]


# Ranks ---------------------------------------------------------------------------------------


@pytest.fixture
def _alone() -> Iterator[None]:
    store = torch._C._distributed_c10d.HashStore()
    dist.init_process_group("gloo", store=store, rank=0, world_size=1)
    yield
    dist.destroy_process_group()


@pytest.mark.usefixtures("_alone")
def test_fingerprints_of_replicas_are_in_it_and_stay_few(path: Path) -> None:
    net = DistributedDataParallel(nn.Linear(3, 1))
    optimizer = SGD(net.parameters(), lr=0.1)
    with gradledger.audit(record=path) as book:
        for _ in range(70):
            turn(net, optimizer)
    with Recording(path) as recording:
        taken = recording.fingerprints()
    assert [step for _, step, _ in taken] == [1, 2, 3, 4, 8, 16, 32, 64]
    assert taken == book.fingerprints
    assert taken[0][2] != taken[1][2]


def test_a_restart_is_another_launch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "job-7")
    launches = []
    for restart in ("0", "0", "1"):
        monkeypatch.setenv("TORCHELASTIC_RESTART_COUNT", restart)
        launches.append(this_run(None).launch)
    assert launches[0] == launches[1] != launches[2]
