"""Row h: two nets that learn from each other, each with an optimizer of its own."""

from __future__ import annotations

from functools import partial

import torch
from torch import nn
from torch.autograd import grad
from torch.optim import SGD

from benchmarks.cases import Case, chunks, distance, judged, loader, micro_batches
from benchmarks.results import Cell
from benchmarks.tasks import flat
from benchmarks.trainers import Batch, Pair, Trainer


def rows() -> list[Batch]:
    return micro_batches(*[4] * 8)


def pair(critic_first: bool) -> Pair:
    torch.manual_seed(0)
    generator = nn.Sequential(nn.Linear(5, 7), nn.Tanh(), nn.Linear(7, 3)).double()
    critic = nn.Sequential(nn.Linear(3, 7), nn.Tanh(), nn.Linear(7, 1)).double()
    return Pair(
        generator,
        critic,
        SGD(generator.parameters(), lr=0.1),
        SGD(critic.parameters(), lr=0.1),
        loader(rows()),
        critic_first,
    )


def exact(pair: Pair) -> None:
    """Each window one big batch, each net by its own loss alone."""
    for window in chunks(rows(), pair.window):
        noise, real = (torch.cat(each) for each in zip(*window, strict=True))
        nets = {"generator": pair.generator, "critic": pair.critic}
        for who, loss in pair.turns(noise, real):
            _fill(nets[who], loss())
        for optimizer in pair.optimizers().values():
            optimizer.step()


def _fill(net: nn.Module, loss: torch.Tensor) -> None:
    parameters = list(net.parameters())
    for parameter, gradient in zip(parameters, grad(loss, parameters), strict=True):
        parameter.grad = gradient


def measure(critic_first: bool, trainer: Trainer) -> Cell:
    start, right, trained = (pair(critic_first) for _ in range(3))
    nets = trained.generator, trained.critic
    exact(right)
    trainer.train_two(trained)
    off = [
        distance(flat(net), flat(goal), flat(begin))
        for net, goal, begin in zip(
            nets,
            (right.generator, right.critic),
            (start.generator, start.critic),
            strict=True,
        )
    ]
    return judged(max(off))


CASES = {
    "h1": Case(
        "two nets, two optimizers: the generator's loss first", "two", partial(measure, False)
    ),
    "h2": Case("two nets, two optimizers: the critic's loss first", "two", partial(measure, True)),
}
