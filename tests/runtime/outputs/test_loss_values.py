"""The loss and the learning rate of each step, against what the program computes itself."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import torch
from torch import Tensor, nn
from torch.amp import GradScaler
from torch.optim import SGD
from torch.optim.lr_scheduler import ExponentialLR
from torch.utils.data import DataLoader, TensorDataset

from gradledger import Stepper
from gradledger.runtime.audit import Audit
from gradledger.runtime.outputs.measurements import LOSS, RATE, Measured
from gradledger.runtime.tensors import devices


@contextmanager
def measured() -> Iterator[list[Measured]]:
    audit, told = Audit(), list[Measured]()
    audit.measured.append(told.append)
    with audit:
        yield told
    assert audit.verdict("a test").trouble == ""


def of(told: list[Measured], name: str, optimizer: str = "optimizer-1") -> list[float | None]:
    return [each.total for each in told if (each.name, each.optimizer) == (name, optimizer)]


def made(rows: int = 4) -> Tensor:
    return torch.randn(rows, 3)


@pytest.fixture
def net() -> nn.Linear:
    torch.manual_seed(0)
    return nn.Linear(3, 1)


def test_the_loss_of_a_step_is_the_number_that_backward_was_called_on(net: nn.Linear) -> None:
    optimizer, expected = SGD(net.parameters(), lr=0.1), []
    with measured() as told:
        for _ in range(3):
            optimizer.zero_grad()
            loss = net(made()).square().mean()
            expected.append(loss.item())
            loss.backward()
            with torch.no_grad():
                loss.mul_(100)  # a running mean that begins in place
            optimizer.step()
    assert of(told, LOSS) == expected


def test_a_window_has_the_sum_of_its_losses(net: nn.Linear) -> None:
    optimizer, expected = SGD(net.parameters(), lr=0.1), []
    with measured() as told:
        for _ in range(2):
            losses = [net(made()).square().mean() / 4 for _ in range(4)]
            for loss in losses:
                loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            expected.append(sum(loss.item() for loss in losses))
    assert of(told, LOSS) == pytest.approx(expected)


def test_the_loss_is_without_the_scale_of_a_scaler(net: nn.Linear) -> None:
    optimizer, expected = SGD(net.parameters(), lr=0.1), []
    scaler = GradScaler("cpu", init_scale=1024.0, growth_interval=1)
    with measured() as told:
        for _ in range(3):
            optimizer.zero_grad()
            loss = net(made()).square().mean()
            expected.append(loss.item())
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
    assert of(told, LOSS) == pytest.approx(expected)


@pytest.mark.parametrize("forgotten", [False, True])
def test_a_loss_counts_in_one_step_of_an_optimizer(net: nn.Linear, forgotten: bool) -> None:
    optimizer, expected = SGD(net.parameters(), lr=0.01), []
    with measured() as told:
        for _ in range(3):
            if not forgotten:
                optimizer.zero_grad()
            loss = net(made()).square().mean()
            expected.append(loss.item())
            loss.backward()
            optimizer.step()
    assert of(told, LOSS) == expected


def test_each_optimizer_has_the_losses_that_reach_it() -> None:
    a, b = nn.Linear(3, 3), nn.Linear(3, 1)
    first, second = SGD(a.parameters(), lr=0.1), SGD(b.parameters(), lr=0.2)
    with measured() as told:
        joint = b(a(made())).square().mean()
        joint.backward()
        own = b(made()).square().mean()
        own.backward()
        first.step()
        second.step()
    assert of(told, LOSS) == [joint.item()]
    assert of(told, LOSS, "optimizer-2") == pytest.approx([(joint + own).item()])
    assert [of(told, RATE), of(told, RATE, "optimizer-2")] == [[0.1], [0.2]]


def test_of_gradients_that_are_given_no_loss_is_known(net: nn.Linear) -> None:
    optimizer = SGD(net.parameters(), lr=0.1)
    with measured() as told:
        for gradient in (torch.ones(4, 1), torch.tensor(2.0)):
            outputs = net(made()) if gradient.dim() else net(made()).mean()
            outputs.backward(gradient)
            optimizer.step()
            optimizer.zero_grad()
        net(made()).square().mean().backward()
        optimizer.step()
    assert len(of(told, LOSS)) == 1


def test_cleared_losses_are_not_counted(net: nn.Linear) -> None:
    optimizer = SGD(net.parameters(), lr=0.1)
    with measured() as told:
        net(made()).square().mean().backward()
        optimizer.zero_grad()
        loss = net(made()).square().mean()
        loss.backward()
        optimizer.step()
    assert of(told, LOSS) == [loss.item()]


def test_losses_cleared_parameter_by_parameter_are_not_counted(net: nn.Linear) -> None:
    optimizer = SGD(net.parameters(), lr=0.1)
    with measured() as told:
        net(made()).square().mean().backward()
        for parameter in net.parameters():
            parameter.grad = None
        loss = net(made()).square().mean()
        loss.backward()
        optimizer.step()
    assert of(told, LOSS) == [loss.item()]


def test_a_stepper_has_the_mean_over_all_items_of_its_window(net: nn.Linear) -> None:
    x = torch.randn(10, 3)
    loader = DataLoader(TensorDataset(x), batch_size=4)
    start = net(x).square().mean().item()
    with measured() as told:
        stepper = Stepper(net, SGD(net.parameters(), lr=0.1), accumulate=3)
        for (rows,) in stepper.over(loader):
            stepper.backward(net(rows).square().mean(), items=len(rows))
    assert of(told, LOSS) == pytest.approx([start])
    assert of(told, RATE) == [0.1]


def test_several_losses_of_a_micro_batch_are_added_up(net: nn.Linear) -> None:
    with measured() as told:
        stepper = Stepper(net, SGD(net.parameters(), lr=0.1))
        for rows in stepper.over([made()]):
            one, two = net(rows).square().mean(), net(rows).abs().mean()
            stepper.backward(one, items=4, more=True)
            stepper.backward(two, items=4)
    assert of(told, LOSS) == pytest.approx([(one + two).item()])


def test_the_learning_rate_is_that_of_the_step(net: nn.Linear) -> None:
    groups = [{"params": [net.weight], "lr": 0.5}, {"params": [net.bias], "lr": 0.1}]
    optimizer = SGD(groups)
    scheduler = ExponentialLR(optimizer, gamma=0.5)
    with measured() as told:
        for _ in range(3):
            optimizer.zero_grad()
            net(made()).square().mean().backward()
            optimizer.step()
            scheduler.step()
    assert of(told, RATE) == [0.5, 0.25, 0.125]


def test_on_a_device_the_numbers_are_the_same(
    net: nn.Linear, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(devices, "_forced", True)
    optimizer = SGD(net.parameters(), lr=torch.tensor(0.25))
    with measured() as told:
        loss = net(made()).square().mean()
        loss.backward()
        optimizer.step()
    assert of(told, LOSS) == [loss.item()]
    assert of(told, RATE) == [0.25]
