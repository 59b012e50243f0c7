"""ExactTrainer: windows of transformers' Trainer are those of the big batch, in float64."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, mse_loss
from torch.utils.data import IterableDataset

from gradledger import NonFiniteGradient, OptionError
from tests.integrations.exactness import (
    CLIP,
    RATE,
    Row,
    flat,
    net,
    rows,
    trained_on_big_batches,
    windows,
)
from tests.torchrun import torchrun

pytestmark = pytest.mark.slow  # transformers


class WithLoss(nn.Module):
    """A model as the Trainer expects one."""

    def __init__(self, criterion: Callable[..., Tensor] = mse_loss) -> None:
        super().__init__()
        self.model, self.criterion = net(), criterion

    def forward(self, x: Tensor, labels: Tensor) -> dict[str, Tensor]:
        out = self.model(x)
        return {"loss": self.criterion(out, labels), "logits": out}


class Deaf(WithLoss):
    """Takes any keyword, so that the Trainer believes it divides by num_items_in_batch."""

    def forward(self, x: Tensor, labels: Tensor, **_: Any) -> dict[str, Tensor]:
        return super().forward(x, labels)


class WithoutLoss(WithLoss):
    def forward(self, x: Tensor) -> dict[str, Tensor]:  # type: ignore[override]
        return {"logits": self.model(x)}


class Stream(IterableDataset[Row]):
    """Has no length."""

    def __iter__(self) -> Iterator[Row]:
        return iter(rows())


def made(
    folder: Path,
    data: list[Row] | Stream,
    model: nn.Module | None = None,
    *,
    kind: Callable[[type], type] = lambda exact: exact,
    options: dict[str, Any] | None = None,
    **arguments: Any,
) -> Any:
    from transformers import PrinterCallback, TrainingArguments

    from gradledger.integrations.transformers import ExactTrainer

    model = model or WithLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE)
    usual: dict[str, Any] = {"save_strategy": "no", "logging_strategy": "no"}
    usual |= {"gradient_accumulation_steps": 4, "max_grad_norm": 0.0}
    chosen = TrainingArguments(
        output_dir=str(folder),
        per_device_train_batch_size=1,  # a row is a micro-batch
        per_device_eval_batch_size=1,
        num_train_epochs=1,
        train_sampling_strategy="sequential",
        use_cpu=True,
        remove_unused_columns=False,
        report_to="none",
        disable_tqdm=True,
        **(usual | arguments),
    )
    trainer = kind(ExactTrainer)(
        model=model,
        args=chosen,
        data_collator=_only,
        train_dataset=data,
        eval_dataset=data,
        optimizers=(optimizer, torch.optim.lr_scheduler.LambdaLR(optimizer, lambda _: 1.0)),
        **options or {},
    )
    trainer.remove_callback(PrinterCallback)
    return trainer


def _only(rows: list[Row]) -> dict[str, Tensor]:
    ((x, y),) = rows
    return {"x": x, "labels": y}


def own_loss(exact: type) -> type:
    class Own(exact):  # type: ignore[misc]
        def compute_loss(self, model: Any, inputs: Any, *_: Any, **__: Any) -> Tensor:
            return mse_loss(model.model(inputs["x"]), inputs["labels"])

    return Own


def sum_by_items(outputs: Any, labels: Tensor, num_items_in_batch: Any = None) -> Tensor:
    """As the guide of transformers has it."""
    return mse_loss(outputs["logits"], labels, reduction="sum").div(num_items_in_batch)


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"model": Deaf},
        {"kind": own_loss},
        {"model": WithoutLoss, "options": {"compute_loss_func": sum_by_items}},
    ],
    ids=["loss of the model", "model that ignores the items", "compute_loss", "compute_loss_func"],
)
def test_a_window_is_the_big_batch_whatever_the_loss_comes_from(
    given: dict[str, Any], tmp_path: Path
) -> None:
    given = given | {"model": given.get("model", WithLoss)()}
    trainer = made(tmp_path, rows(), **given)
    trainer.train()
    right = trained_on_big_batches(net(), windows(rows()))
    torch.testing.assert_close(flat(trainer.model), right, rtol=0, atol=1e-14)


def test_data_without_a_length_fills_a_window_from_its_next_pass(tmp_path: Path) -> None:
    """The Trainer adds what is left of a pass to the first window of the next."""
    trainer = made(tmp_path, Stream(), max_steps=3)
    trainer.train()
    right = trained_on_big_batches(net(), windows(rows() * 2))
    torch.testing.assert_close(flat(trainer.model), right, rtol=0, atol=1e-14)


def test_data_without_a_length_that_does_not_fill_a_window_is_refused(tmp_path: Path) -> None:
    trainer = made(tmp_path, Stream(), max_steps=3, gradient_accumulation_steps=7)
    with pytest.raises(OptionError, match="has ended before the 7 micro-batches of a window"):
        trainer.train()


def test_the_gradient_of_the_window_is_what_is_clipped(tmp_path: Path) -> None:
    trainer = made(tmp_path, rows(), max_grad_norm=CLIP)
    trainer.train()
    right = trained_on_big_batches(net(), windows(rows()), clip=CLIP)
    torch.testing.assert_close(flat(trainer.model), right, rtol=0, atol=1e-14)


def tokens_loss(out: Tensor, labels: Tensor) -> Tensor:
    return cross_entropy(out.flatten(0, 1), labels.flatten())


def sentences() -> list[Row]:
    found = []
    for valid, (x, _) in zip((16, 3, 5, 9, 1, 7), rows([16] * 6), strict=True):
        labels = torch.arange(16) % 3
        labels[valid:] = -100
        found.append((x.view(2, 8, 5), labels.view(2, 8)))
    return found


def masked_loss(out: Tensor, labels: Tensor) -> Tensor:
    """Its gradient is NaN where no label counts."""
    counts = labels.ne(-100)
    return ((out - labels).square() * counts).sum() / counts.sum()


def with_labels(*valid: int) -> list[Row]:
    found = rows([5] * len(valid))
    for count, (_, labels) in zip(valid, found, strict=True):
        labels.view(-1)[count:] = -100
    return found


def test_a_micro_batch_without_items_is_left_out(tmp_path: Path) -> None:
    data = with_labels(15, 0, 4, 7)
    trainer = made(tmp_path, data, WithLoss(masked_loss))
    trainer.train()
    right = trained_on_big_batches(net(), windows(data), masked_loss)
    torch.testing.assert_close(flat(trainer.model), right, rtol=0, atol=1e-14)


def test_items_are_labels_that_count(tmp_path: Path) -> None:
    trainer = made(tmp_path, sentences(), WithLoss(tokens_loss))
    trainer.train()
    right = trained_on_big_batches(net(), windows(sentences()), tokens_loss)
    torch.testing.assert_close(flat(trainer.model), right, rtol=0, atol=1e-14)


def test_a_language_model_that_shifts_its_labels_is_exact(tmp_path: Path) -> None:
    from transformers import LlamaConfig, LlamaForCausalLM

    made_of: Any = LlamaForCausalLM
    sizes: dict[str, Any] = {"hidden_size": 8, "intermediate_size": 8, "num_attention_heads": 2}
    config = LlamaConfig(vocab_size=11, num_hidden_layers=1, num_key_value_heads=2, **sizes)
    torch.manual_seed(0)
    big = made_of(config).double()
    model = made_of(config).double()
    model.load_state_dict(big.state_dict())
    batches = []
    for first, valid in enumerate((9, 4, 2, 6)):
        ids = ((torch.arange(18) * (first + 3)) % 11).view(2, 9)
        labels = ids.clone()
        labels[:, valid:] = -100
        batches.append({"input_ids": ids, "labels": labels})
    trainer = made(tmp_path, [(b["input_ids"], b["labels"]) for b in batches], model)
    trainer.data_collator = lambda rows: {"input_ids": rows[0][0], "labels": rows[0][1]}
    trainer.train()
    whole = {key: torch.cat([b[key] for b in batches]) for key in ("input_ids", "labels")}
    big.train()
    big(**whole).loss.backward()
    torch.optim.SGD(big.parameters(), lr=RATE).step()
    # Its norms and its softmax are in float32.
    torch.testing.assert_close(flat(model), flat(big), rtol=1e-5, atol=1e-7)
    torch.manual_seed(0)
    start = flat(made_of(config).double())
    assert float((start - flat(big)).norm()) > 1e-3


class Boom(Exception):
    pass


def fails_once(model: WithLoss, at: int, *, backward: bool) -> WithLoss:
    """In its forward pass, or when the last layer has its gradient and the first has not."""
    calls = 0

    def fail(*_: Any) -> None:
        raise Boom

    def count(_: nn.Module, __: Any, output: Tensor) -> None:
        nonlocal calls
        calls += 1
        if calls == at:
            output.register_hook(fail) if backward else fail()  # type: ignore[no-untyped-call]

    model.model[0].register_forward_hook(count)  # type: ignore[index]
    return model


def catching(exact: type) -> type:
    class Catching(exact):  # type: ignore[misc]
        def training_step(self, *given: Any, **more: Any) -> Tensor:
            try:
                loss: Tensor = super().training_step(*given, **more)
            except Boom:
                return torch.tensor(0.0)
            return loss

    return Catching


@pytest.mark.parametrize(
    ("at", "backward", "counts"),
    [(2, False, [0, 2, 3]), (4, False, [0, 1, 2]), (2, True, [2, 3]), (4, True, [])],
)
def test_a_micro_batch_that_failed_leaves_the_mean_of_what_did_not(
    at: int, backward: bool, counts: list[int], tmp_path: Path
) -> None:
    """One that failed in the middle of its backward takes what came before it along."""
    model = fails_once(WithLoss(), at, backward=backward)
    trainer = made(tmp_path, rows(), model, kind=catching)
    trainer.train()
    first, second = windows(rows())
    kept = [window for window in ([first[i] for i in counts], second) if window]
    torch.testing.assert_close(flat(model), trained_on_big_batches(net(), kept), rtol=0, atol=1e-14)


def with_infinity() -> list[Row]:
    found = rows()
    found[4][1][0, 0] = torch.inf
    return found


def test_a_gradient_that_is_not_finite_ends_the_training_before_the_step(tmp_path: Path) -> None:
    trainer = made(tmp_path, with_infinity())
    with pytest.raises(NonFiniteGradient, match=r"of step 2 is NaN or Inf in model\.0\.weight"):
        trainer.train()
    right = trained_on_big_batches(net(), windows(rows())[:1])
    torch.testing.assert_close(flat(trainer.model), right, rtol=0, atol=1e-14)


def test_on_nonfinite_allow_steps_as_the_trainer_does(tmp_path: Path) -> None:
    trainer = made(tmp_path, with_infinity(), options={"on_nonfinite": "allow"})
    trainer.train()
    assert flat(trainer.model).isnan().any()


def test_an_option_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="on_nonfinite must be 'raise' or 'allow', got 'skip'"):
        made(tmp_path, rows(), options={"on_nonfinite": "skip"})


def test_the_loss_that_is_logged_is_the_mean_over_the_window(tmp_path: Path) -> None:
    trainer = made(tmp_path, rows(), logging_strategy="steps", logging_steps=1)
    trainer.train()
    logged = [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]
    first, second = windows(rows())
    model = net()
    expected = [_mean(model, first)]
    trained_on_big_batches(model, [first])
    expected.append(_mean(model, second))
    assert logged == pytest.approx(expected, rel=1e-6)  # the Trainer adds them up in float32


def _mean(model: nn.Module, window: Any) -> float:
    xs, ys = zip(*window, strict=True)
    return mse_loss(model(torch.cat(xs)), torch.cat(ys)).item()


def test_an_evaluation_is_that_of_the_trainer(tmp_path: Path) -> None:
    from transformers import Trainer

    trainer = made(tmp_path, rows([3, 3]))
    usual = Trainer(
        trainer.model,
        trainer.args,
        data_collator=_only,
        eval_dataset=trainer.eval_dataset,
    )
    assert trainer.evaluate()["eval_loss"] == usual.evaluate()["eval_loss"]


RANKS = (4, 1, 3, 4, 2, 5, 1, 7)
"""Of one of two ranks has every second."""


def test_windows_are_exact_over_two_ranks(tmp_path: Path) -> None:
    words = ("tests.integrations.test_exact_trainer", str(tmp_path))
    ended = torchrun(2, *words, at=Path(__file__).parents[2])
    assert ended.returncode == 0, ended.stderr
    right = trained_on_big_batches(net(), windows(rows(RANKS)))
    for rank in range(2):
        found = torch.load(tmp_path / f"{rank}.pt")
        torch.testing.assert_close(found, right, rtol=0, atol=1e-14)


def train_on_this_rank(folder: Path) -> None:
    trainer = made(folder, rows(RANKS), gradient_accumulation_steps=2)
    trainer.train()
    assert trainer.args.world_size == 2
    torch.save(flat(trainer.model), folder / f"{trainer.args.process_index}.pt")


if __name__ == "__main__":
    train_on_this_rank(Path(sys.argv[1]))
