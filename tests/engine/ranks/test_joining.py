"""What can't be exact on many ranks, or could hang there, is refused with a sentence."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import allreduce_hook
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel
from torch.optim import LBFGS, SGD, Optimizer

from gradledger import MisuseError, OptionError, Stepper
from tests.engine.loops import Layers, micro_batches, mse, net
from tests.torch_versions import OLD

DDP = DistributedDataParallel


@pytest.fixture(autouse=True, scope="module")
def _a_world_of_one() -> Iterator[None]:
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)  # type: ignore[attr-defined]
    yield
    dist.destroy_process_group()


def hooked(model: nn.Module) -> DDP:
    replica = DDP(model)
    replica.register_comm_hook(None, allreduce_hook)
    return replica


def made_before_sharding() -> tuple[nn.Module, Optimizer]:
    model = net()
    optimizer = SGD(model.parameters(), 0.1)
    fully_shard(model)
    return model, optimizer


def with_optimizer(
    model: nn.Module, make: Callable[..., Optimizer] = SGD, **options: Any
) -> tuple[nn.Module, Optimizer]:
    return model, make(model.parameters(), 0.1, **options)


def half_of_it() -> tuple[nn.Module, Optimizer]:
    model = net()
    return DDP(model), SGD(model[0].parameters(), 0.1)


def and_one_more() -> tuple[nn.Module, Optimizer]:
    model = DDP(net())
    return model, SGD([*model.parameters(), nn.Parameter(torch.ones(1))], 0.1)


def frozen_late() -> tuple[nn.Module, Optimizer]:
    model = DDP(net())
    model.module[0].requires_grad_(False)
    return with_optimizer(model)


def unfrozen_late() -> tuple[nn.Module, Optimizer]:
    inner = net()
    inner[0].requires_grad_(False)
    model = DDP(inner)
    inner[0].requires_grad_(True)
    return with_optimizer(model)


def sharded() -> Any:
    return fully_shard(net())


def sharded_and_one_more() -> tuple[nn.Module, Optimizer]:
    model = sharded()
    return model, SGD([*model.parameters(), nn.Parameter(torch.ones(1))], 0.1)


def divided() -> tuple[nn.Module, Optimizer]:
    model = sharded()
    if OLD and not hasattr(model, "set_gradient_divide_factor"):
        pytest.skip(f"torch {torch.__version__} has no set_gradient_divide_factor")
    model.set_gradient_divide_factor(2.0)
    return with_optimizer(model)


def partly_sharded() -> tuple[nn.Module, Optimizer]:
    model = net()
    fully_shard(model[0])
    return with_optimizer(model)


SPARSE = Layers(nn.Embedding(5, 3, sparse=True))


@pytest.mark.parametrize(
    ("make", "options", "words"),
    [
        (lambda: with_optimizer(hooked(net())), {}, "communication hook"),
        (lambda: with_optimizer(DDP(net(), static_graph=True)), {}, "static_graph"),
        (lambda: with_optimizer(DDP(SPARSE)), {}, "sparse"),
        (lambda: with_optimizer(nn.Sequential(DDP(net()))), {}, "itself"),
        (half_of_it, {}, "no optimizer of this Stepper holds 2"),
        (and_one_more, {}, "not in the DistributedDataParallel"),
        (frozen_late, {}, "frozen or unfrozen after"),
        (unfrozen_late, {}, "frozen or unfrozen after"),
        (lambda: with_optimizer(DDP(net()), LBFGS), {}, "within one process"),
        (lambda: with_optimizer(DDP(net())), {"release": "eager"}, "before the ranks"),
        (lambda: with_optimizer(sharded()), {"release": "eager"}, "before the ranks"),
        (made_before_sharding, {}, "rebuilt after the optimizer"),
        (sharded_and_one_more, {}, "Make it after"),
        (partly_sharded, {}, "whole model"),
        (divided, {}, "set_gradient_divide_factor"),
    ],
)
def test_it_is_refused(make: Any, options: dict[str, Any], words: str) -> None:
    model, optimizer = make()
    with pytest.raises(OptionError, match=words):
        Stepper(model, optimizer, **options)


def test_a_norm_that_communicates_is_refused() -> None:
    model = DDP(net())
    model.module.add_module("norm", nn.SyncBatchNorm(3))  # DDP itself takes it on GPUs only
    for p in model.module.norm.parameters():
        p.requires_grad_(False)
    with pytest.raises(OptionError, match="norm is a SyncBatchNorm"):
        Stepper(model, SGD(model.parameters(), 0.1))


@pytest.mark.parametrize("accumulate", [1, 2])
def test_what_is_frozen_while_it_trains_is_told(accumulate: int) -> None:
    model = DDP(net())
    stepper = Stepper(model, SGD(model.parameters(), 0.1), accumulate=accumulate)
    first, second = micro_batches(2, 2)
    stepper.backward(mse(model, first), items=2)
    model.module[0].requires_grad_(False)
    with pytest.raises(MisuseError, match="Make it anew"):
        stepper.backward(mse(model, second), items=2)


def test_one_rank_is_as_good_as_many() -> None:
    ours, theirs = net(), net()
    model = DDP(ours)
    stepper = Stepper(model, SGD(model.parameters(), 0.1), accumulate=2)
    single = Stepper(theirs, SGD(theirs.parameters(), 0.1), accumulate=2)
    data = micro_batches(2, 3, 1)
    for batch in stepper.over(data):
        stepper.backward(mse(model, batch), items=len(batch[1]))
    for batch in single.over(data):
        single.backward(mse(theirs, batch), items=len(batch[1]))
    for p, q in zip(ours.parameters(), theirs.parameters(), strict=True):
        torch.testing.assert_close(p, q, rtol=1e-12, atol=1e-12)
    assert "buffer of its own" in str(stepper.plan())


def test_a_shared_state_is_for_many_ranks() -> None:
    model = net()
    stepper = Stepper(model, SGD(model.parameters(), 0.1))
    with pytest.raises(MisuseError, match="state_dict"):
        stepper.shared_state_dict()
    with pytest.raises(MisuseError, match="load_state_dict"):
        stepper.load_shared_state_dict({})


def test_a_shared_state_is_taken_after_backward() -> None:
    model = DDP(net())
    stepper = Stepper(model, SGD(model.parameters(), 0.1))
    batches = stepper.over(micro_batches(2))
    next(batches)
    with pytest.raises(MisuseError, match="after it"):
        stepper.shared_state_dict()
