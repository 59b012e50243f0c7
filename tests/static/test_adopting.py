"""Loops rewritten to Stepper train as before; what can't be rewritten is left, with the reason."""

from __future__ import annotations

import contextlib
import difflib
import io
import runpy
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from syrupy.assertion import SnapshotAssertion
from torch import Tensor

from gradledger.static.adopt.adopt import adopted
from gradledger.static.adopt.refusal import NotAdopted

from .adoptable import BEGIN, LOOPS, REFUSED

EVERY_LOOP = pytest.mark.parametrize("name", LOOPS)


@pytest.fixture(autouse=True)
def _double_precision() -> Iterator[None]:
    dtype = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(dtype)


def rewritten(text: str) -> str:
    return adopted("train.py", text.encode()).after.decode()


def outcome(text: str, folder: Path) -> tuple[list[Tensor], str]:
    """The parameters that a program ends with, and what it has printed."""
    program = folder / "train.py"
    program.write_text(text, encoding="utf-8")
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        ending = runpy.run_path(str(program), run_name="__main__")
    return [p.detach() for p in ending["model"].parameters()], printed.getvalue()


@EVERY_LOOP
def test_the_rewritten_loop_trains_and_prints_the_same(name: str, tmp_path: Path) -> None:
    before, printed = outcome(LOOPS[name], tmp_path)
    after, printed_then = outcome(rewritten(LOOPS[name]), tmp_path)
    for one, other in zip(before, after, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-12)
    assert printed_then == printed
    at_first, _ = outcome(BEGIN.replace("ROWS", "4"), tmp_path)
    assert not all(map(torch.equal, at_first, after))


@EVERY_LOOP
def test_nothing_is_left_of_the_old_loop(name: str) -> None:
    after = rewritten(LOOPS[name])
    assert after.count("stepper = Stepper(") == 1
    for gone in ("zero_grad", "optimizer.step(", "opt.step(", "unscale_", ".update()", "clip_grad"):
        assert gone not in after
    assert after.count(".backward(") == after.count("stepper.backward(")


@EVERY_LOOP
def test_a_rewritten_loop_is_not_rewritten_again(name: str) -> None:
    with pytest.raises(NotAdopted, match="it uses Stepper already"):
        rewritten(rewritten(LOOPS[name]))


def test_the_diffs_and_what_is_said_of_them(snapshot: SnapshotAssertion) -> None:
    told = []
    for name, text in LOOPS.items():
        made = adopted("train.py", text.encode())
        before, after = (
            data.decode().splitlines(keepends=True) for data in (text.encode(), made.after)
        )
        diff = list(difflib.unified_diff(before, after, n=1))[2:]
        told += [f"== {name}, line {made.line}\n", *diff, *(f"- {said}\n" for said in made.remarks)]
    assert "".join(told) == snapshot


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_mapped_is_refused_in_one_sentence(name: str) -> None:
    body, reason = REFUSED[name]
    text = BEGIN.replace("ROWS", "4") + body
    with pytest.raises(NotAdopted) as refused:
        adopted("train.py", text.encode())
    assert reason in str(refused.value)
    assert "\n" not in str(refused.value)
    assert not str(refused.value).endswith(".")


# The last window of a pass -------------------------------------------------------------------


SHORT = LOOPS["accumulation"].replace("range(4)", "range(5)")


def test_a_short_window_that_was_left_over_is_told_and_spent(tmp_path: Path) -> None:
    assert LOOPS["accumulation"] != SHORT
    made = adopted("train.py", SHORT.encode())
    (told,) = [said for said in made.remarks if "fewer than" in said]
    assert "before, their gradients were left over" in told
    assert "cures GL203 on line 15" in made.remarks
    (before, _), (after, _) = (outcome(t, tmp_path) for t in (SHORT, made.after.decode()))
    assert not all(map(torch.equal, before, after))


def test_a_short_window_that_was_spent_is_told() -> None:
    made = adopted("train.py", LOOPS["accumulation, divided in place"].encode())
    assert any("are now divided by their number" in said for said in made.remarks)


def test_a_sum_of_means_becomes_a_mean_as_the_rule_wants_it() -> None:
    text = LOOPS["accumulation"].replace("        loss = loss / accumulation_steps\n", "")
    made = adopted("train.py", text.encode())
    assert any(said.startswith("cures GL301") for said in made.remarks)


def test_clears_of_another_model_stay() -> None:
    text = LOOPS["five lines"].replace("criterion = ", "other = nn.Linear(1, 1)\ncriterion = ")
    text = text.replace("        optimizer.zero_grad()\n", "        other.zero_grad()\n" * 2)
    text = text.replace("        other.zero_grad()\n", "        optimizer.zero_grad()\n", 1)
    after = rewritten(text)
    assert "        other.zero_grad()\n" in after
    assert "optimizer.zero_grad" not in after


def test_gradients_that_were_set_to_zero_are_told() -> None:
    text = LOOPS["five lines"].replace("zero_grad()", "zero_grad(set_to_none=False)")
    made = adopted("train.py", text.encode())
    assert any("line 11 set gradients to zero" in said for said in made.remarks)


# Text -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("end", ["\r\n", "\n"])
def test_all_other_bytes_are_kept(end: str) -> None:
    text = LOOPS["five lines"].replace("\n", end) + f'name = "Zoë"  #  spaces {end}'
    made = adopted("train.py", ("\ufeff" + text).encode())
    lines = made.after.split(end.encode())
    assert made.after.startswith(b"\xef\xbb\xbfimport torch" + end.encode())
    assert 'name = "Zoë"  #  spaces '.encode() in lines
    old = set(("\ufeff" + text).encode().split(end.encode()))
    assert {line.strip() for line in set(lines) - old} == {
        b"from gradledger import Stepper",
        b"stepper = Stepper(model, optimizer)",
        b"for x, y in stepper.over(data):",
        b"stepper.backward(loss)",
    }


def test_a_stepper_that_is_too_long_for_a_line_has_a_line_for_each_argument() -> None:
    name = "how_large_a_gradient_may_be_before_it_is_clipped_to_that_norm"
    text = LOOPS["clipped if asked for"].replace("max_norm", name)
    after = rewritten(text.replace(f"{name} is not None", f"{name} > 0"))
    made = after[after.index("stepper = ") : after.index("for epoch")]
    assert made == (
        "stepper = Stepper(\n    model,\n    optimizer,\n"
        f"    clip_norm={name} if {name} > 0 else None,\n)\n"
    )


def test_comments_go_with_the_statements_that_they_head() -> None:
    after = rewritten(LOOPS["clipped"])
    assert "# Backward pass\n        stepper.backward(loss)\n" in after
    assert "explode" not in after


IMPORTS = "import torch\nfrom torch import nn\n"


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        (
            IMPORTS,
            "if 1:\n    import torch\n    from torch import nn\n",
            "no imports at its top",
        ),
        (IMPORTS, "import torch; from torch import nn\n", "more than an import"),
        ("criterion = ", "stepper = 1\ncriterion = ", "uses the name stepper already"),
    ],
)
def test_text_in_which_there_is_no_place_is_left(old: str, new: str, reason: str) -> None:
    with pytest.raises(NotAdopted, match=reason):
        rewritten(LOOPS["five lines"].replace(old, new))


def test_a_notebook_and_a_file_that_is_no_python_are_left() -> None:
    with pytest.raises(NotAdopted, match="it is a notebook"):
        adopted("train.ipynb", b"{}")
    with pytest.raises(NotAdopted, match="it can't be read: it is not Python"):
        adopted("train.py", b"def")
