"""The data is complete, names real rules, and is found by the words that people use."""

from __future__ import annotations

import re

import pytest

from gradledger.rules import CATALOGUE, find
from gradledger.why import ENTRIES, SYMPTOMS, matches


def test_names_and_titles_are_unique_and_names_are_good_for_addresses() -> None:
    assert len({entry.name for entry in ENTRIES}) == len(ENTRIES)
    assert len({entry.title for entry in ENTRIES}) == len(ENTRIES)
    assert all(re.fullmatch(r"[a-z0-9-]+", entry.name) for entry in ENTRIES)


def test_every_entry_has_causes_and_every_rule_named_exists() -> None:
    for entry in ENTRIES:
        assert entry.causes, entry.name
        for code in entry.rules:
            assert find(code).code == code
        assert len({cause.what for cause in entry.causes}) == len(entry.causes)


def test_every_rule_is_the_cause_of_something() -> None:
    named = {code for entry in ENTRIES for code in entry.rules}
    assert named == {rule.code for rule in CATALOGUE}


SAID = (
    ("loss oscillates", "loss-oscillates"),
    ("my loss goes up and down", "loss-oscillates"),
    ("loss increases instead of decreasing", "loss-oscillates"),
    ("loss explodes after 100 steps", "loss-oscillates"),
    ("forgot zero_grad", "loss-oscillates"),
    ("where do I put zero_grad()?", "loss-oscillates"),
    ("my loss is NaN after the first step", "loss-nan"),
    ("grad norm is inf", "loss-nan"),
    ("weights become nan", "loss-nan"),
    ("the model isn't learning", "loss-constant"),
    ("my model doesn\u2019t learn", "loss-constant"),
    ("loss not decreasing", "loss-constant"),
    ("loss stuck at 2.303", "loss-constant"),
    ("lose oscilates", "loss-oscillates"),
    ("gradiant accumulation is worse", "accumulation-worse"),
    ("CUDA out of memmory after an hour", "out-of-memory"),
    ("accuracy stuck at 10%", "loss-constant"),
    ("optimizer.step() does nothing", "loss-constant"),
    ("weights don't change after optimizer.step()", "loss-constant"),
    ("p.grad is None after backward", "gradients-none"),
    ("gradients are always 0", "gradients-none"),
    ("out of memory after 300 steps", "out-of-memory"),
    ("CUDA memory keeps growing", "out-of-memory"),
    ("RAM usage increases every epoch", "out-of-memory"),
    ("oom", "out-of-memory"),
    ("training slows down over time", "slower-each-step"),
    ("training gets slower and slower", "slower-each-step"),
    ("each epoch takes longer", "slower-each-step"),
    ("training is slow", "slow-training"),
    ("slow zero_grad", "slow-zero-grad"),
    ("gradient accumulation gives different results", "accumulation-worse"),
    ("accumulation doesn't match the large batch", "accumulation-worse"),
    ("loss jumps every epoch", "epoch-bump"),
    ("loss spike", "loss-spikes"),
    ("my GAN collapses", "gan-collapses"),
    ("discriminator loss goes to zero", "gan-collapses"),
    ("frozen layers are updated", "frozen-moves"),
    ("requires_grad=False but the weights change", "frozen-moves"),
    ("clip_grad_norm_ does nothing", "clipping-useless"),
    ("clip_grad_norm_ returns a huge value", "clipping-useless"),
    ("AMP trains worse than fp32", "mixed-precision-differs"),
    ("GradScaler skips every step", "scaler-skips-steps"),
    ("loss scale keeps decreasing", "scaler-skips-steps"),
    ("DDP ranks diverge", "ranks-differ"),
    ("different loss on each gpu", "ranks-differ"),
    ("DDP hangs", "unused-parameters"),
    ("learning rate decays too fast", "learning-rate-ends-early"),
    ("unscale_() has already been called", "unscale-twice"),
    ("step() has already been called", "step-twice"),
    ("'NoneType' object has no attribute 'data'", "none-has-no-attribute"),
    ("backward through the graph a second time", "backward-second-time"),
)


@pytest.mark.parametrize(("words", "name"), SAID)
def test_a_symptom_in_a_persons_words_is_found(words: str, name: str) -> None:
    assert matches(words, ENTRIES)[0].name == name


TRACEBACK = """\
Traceback (most recent call last):
  File "/home/me/train.py", line 41, in <module>
    loss.backward()  # the loss is not nan here, and zero_grad() is slow
  File "/venv/lib/python3.11/site-packages/torch/_tensor.py", line 630, in backward
    torch.autograd.backward(
"""
RAISED = (
    (
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0 has a "
        "total capacity of 14.75 GiB of which 9.06 MiB is free. Including non-PyTorch memory, this "
        "process has 14.73 GiB memory in use.",
        "out-of-memory",
    ),
    (
        "RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 23.69 GiB total)",
        "out-of-memory",
    ),
    (
        "[rank1]: RuntimeError: Expected to have finished reduction in the prior iteration before "
        "starting a new one.",
        "unused-parameters",
    ),
    ("RuntimeError: Function 'MulBackward0' returned nan values in its 0th output.", "loss-nan"),
    (
        "TypeError: unsupported operand type(s) for -=: 'Tensor' and 'NoneType'",
        "none-in-arithmetic",
    ),
    (
        "\x1b[1;31mRuntimeError: \x1b[0mTrying to backward through the graph a second\n  time (or",
        "backward-second-time",
    ),
)


@pytest.mark.parametrize(("raised", "name"), RAISED)
def test_of_a_traceback_only_what_was_raised_counts(raised: str, name: str) -> None:
    assert [entry.name for entry in matches(f"{TRACEBACK}{raised}\n", ENTRIES)] == [name]


@pytest.mark.parametrize(
    "raised",
    [
        "ModuleNotFoundError: No module named 'apex'",
        "RuntimeError: Expected all tensors to be on the same device, but found at least two",
        "KeyError: 'exp_avg'",
    ],
)
def test_an_error_about_something_else_finds_nothing(raised: str) -> None:
    assert matches(f"{TRACEBACK}{raised}\n", ENTRIES) == ()


def test_a_log_in_which_the_loss_turns_nan_is_understood() -> None:
    log = "".join(f"epoch 1 step {n} loss: 0.{n}\n" for n in range(1000))
    assert matches(log, ENTRIES) == ()
    assert [entry.name for entry in matches(f"{log}step 1000 loss: nan\n", ENTRIES)] == ["loss-nan"]


def test_a_megabyte_of_unknown_words_is_no_description() -> None:
    assert matches(" ".join(f"gradiant{n}" for n in range(80_000)), ENTRIES) == ()


def test_a_word_that_is_in_most_entries_is_too_vague() -> None:
    assert matches("loss", ENTRIES) == matches("gradient", ENTRIES) == ()


@pytest.mark.parametrize("words", ["", "   ", "xyzzy", "how do I bake bread", "\0\x1b[31m", "the"])
def test_what_is_about_nothing_finds_nothing(words: str) -> None:
    assert matches(words, ENTRIES) == ()


def test_every_symptom_is_found_by_its_own_title() -> None:
    for entry in SYMPTOMS:
        assert matches(entry.title, ENTRIES)[0] is entry


def test_of_several_messages_the_last_one_comes_first() -> None:
    text = (
        "RuntimeError: step() has already been called since the last update().\n"
        "During handling of the above exception, another exception occurred:\n"
        "RuntimeError: Trying to backward through the graph a second time"
    )
    assert [entry.name for entry in matches(text, ENTRIES)] == [
        "backward-second-time",
        "step-twice",
    ]
