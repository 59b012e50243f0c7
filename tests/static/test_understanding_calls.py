"""Functions of the project that are called more than once, and what is made for a call."""

from __future__ import annotations

import pytest

from tests.static.programs import ONE_NET, check, shown


def test_a_second_call_counts_where_it_goes_on_with_what_is_there() -> None:
    program = f"""{ONE_NET}
def fit(epoch):
    criterion(model(dataset.x), dataset.y).backward()
    optimizer.step()

fit(1)
fit(2)
"""
    assert {rule for rule, _ in shown(check(program))} == {"GL101"}


def test_a_second_call_counts_where_the_first_one_gives_what_it_made() -> None:
    program = f"""{ONE_NET}
def fit(epoch):
    net = nn.Linear(8, 3)
    spender = torch.optim.SGD(net.parameters(), lr=0.1)
    criterion(net(dataset.x), dataset.y).backward()
    spender.step()
    return net, spender

fit(1)
net, spender = fit(2)
criterion(net(dataset.x), dataset.y).backward()
spender.step()
"""
    assert {rule for rule, _ in shown(check(program))} == {"GL101"}


def test_a_second_call_counts_where_another_function_made_the_optimizer() -> None:
    program = f"""{ONE_NET}
def make():
    net = nn.Linear(8, 3)
    return net, torch.optim.SGD(net.parameters(), lr=0.1)

net, spender = make()

def fit(epoch):
    criterion(net(dataset.x), dataset.y).backward()
    spender.step()

fit(1)
fit(2)
"""
    assert {rule for rule, _ in shown(check(program))} == {"GL101"}


def test_calls_in_a_loop_are_followed_in_all_its_rounds() -> None:
    program = f"""{ONE_NET}
def fit(fold):
    net = nn.Linear(8, 3)
    spender = torch.optim.SGD(net.parameters(), lr=0.1)
    for x, y in loader:
        criterion(net(x), y).backward()
        spender.step()
    return 1.0

best = 0.0
for fold in range(5):
    best = max(best, fit(fold))
    total = best + 1
"""
    assert {rule for rule, _ in shown(check(program))} == {"GL101"}


@pytest.mark.parametrize("clear", ["optimizer.zero_grad()", "pass"])
def test_an_optimizer_may_be_made_right_where_it_is_given(clear: str) -> None:
    program = f"""{ONE_NET}
def fit(net, spender):
    for x, y in loader:
        {clear.replace("optimizer", "spender")}
        criterion(net(x), y).backward()
        spender.step()

fit(model, torch.optim.SGD(model.parameters(), lr=0.1))
"""
    found = {rule for rule, _ in shown(check(program))}
    assert found == ({"GL101"} if clear == "pass" else set())


def test_a_function_without_arguments_may_give_several_things_of_a_net_around_it() -> None:
    program = """\
import torch

def main():
    task = Task(model)
    train(optimizer, loader, task=task)

def train(optimizer, loader, task=None):
    for x in loader:
        def forward():
            with autocast():
                out = task(x)
            return out.mean(), out
        with task.no_sync():
            loss, out = forward()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
"""
    assert not check(program).unknown
