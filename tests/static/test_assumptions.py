"""What the path to a finding takes for granted is said, and nothing that is true both ways."""

from __future__ import annotations

from textwrap import indent

from gradledger.ledger import Finding
from tests.static.programs import ONE_NET, check

OPTIONS = """\
from argparse import ArgumentParser
parser = ArgumentParser()
parser.add_argument("--fp16", action="store_true")
parser.add_argument("--accum", type=int, default=1)
parser.add_argument("--clip", type=float, default=0.0)
args = parser.parse_args()
scaler = torch.amp.GradScaler()
"""


def the(rule: str, body: str, *, before: str = OPTIONS) -> Finding:
    """The finding of this rule in a loop over the data."""
    text = f"{ONE_NET}{before}for i, (x, y) in enumerate(loader):\n{indent(body, '    ')}"
    found = [finding for finding in check(text).findings if finding.rule == rule]
    assert len(found) == 1, found
    return found[0]


SCALED = """\
optimizer.zero_grad()
loss = criterion(model(x), y)
if args.fp16:
    scaler.scale(loss).backward()
else:
    loss.backward()
optimizer.step()
"""


def test_an_option_that_is_off_by_default_is_said_with_its_default() -> None:
    finding = the("GL402", SCALED)
    assert finding.assumptions == ("only with `--fp16` on; it is off by default",)
    assert finding.condition == finding.assumptions[0]


def test_an_option_without_a_default_is_said_without_one() -> None:
    finding = the(
        "GL402", SCALED, before="from data import args\nscaler = torch.amp.GradScaler()\n"
    )
    assert finding.assumptions == ("only with `data.args.fp16` on",)
    assert finding.condition == ""


def test_what_is_broken_with_an_option_and_without_it_does_not_assume_it() -> None:
    body = SCALED.replace("optimizer.zero_grad()\n", "").replace("optimizer.step()", "step()")
    body = body.replace("scaler.scale(loss).backward()", "(2 * loss).backward()")
    found = the("GL101", body.replace("step()", "optimizer.step()"))
    assert found.assumptions == ("the loop runs at least twice",)


WINDOWS = """\
loss = criterion(model(x), y) / args.accum
loss.backward()
if (i + 1) % args.accum == 0:
    optimizer.step()
    optimizer.zero_grad()
"""


def test_a_window_that_is_1_by_default_is_said_to_have_to_be_larger() -> None:
    finding = the("GL203", WINDOWS)
    assert finding.assumptions == ("only with `--accum` above 1; its default is 1",)
    assert [step.what for step in finding.witness] == ["deposited", "ended"]


def test_a_window_of_another_default_is_no_assumption() -> None:
    finding = the("GL203", WINDOWS, before=OPTIONS.replace("default=1", "default=4"))
    assert finding.assumptions == ()


def test_a_window_of_unknown_size_is_said_without_a_default() -> None:
    finding = the("GL203", WINDOWS, before="from data import args\n")
    assert finding.assumptions == ("only with `data.args.accum` above 1",)


def test_what_a_window_of_1_breaks_too_does_not_assume_a_larger_one() -> None:
    finding = the("GL101", WINDOWS.replace("    optimizer.zero_grad()\n", ""))
    assert finding.assumptions == ("the loop runs at least twice",)
    assert [step.what for step in finding.witness] == ["deposited", "spent"] * 2


def test_code_that_was_not_followed_is_said_to_leave_gradients_alone() -> None:
    body = "criterion(model(x), y).backward()\noptimizer.step()\nclean_up(optimizer)\n"
    finding = the("GL101", body, before="from elsewhere import clean_up\n")
    assert "`clean_up(optimizer)` leaves the gradients alone" in finding.assumptions


def test_a_branch_on_data_is_told_by_what_it_skips() -> None:
    body = (
        "loss = criterion(model(x), y)\nloss.backward()\noptimizer.step()\n"
        "if loss.item() < 3:\n    optimizer.zero_grad()\n"
    )
    finding = the("GL101", body, before="")
    assert "`optimizer.zero_grad()` is skipped" in finding.assumptions


def test_what_an_option_has_to_be_is_told_as_a_comparison() -> None:
    body = (
        "optimizer.zero_grad()\nscaler.scale(criterion(model(x), y)).backward()\n"
        "if args.clip > 0:\n    torch.nn.utils.clip_grad_norm_(model.parameters(), args.clip)\n"
        "scaler.step(optimizer)\nscaler.update()\n"
    )
    finding = the("GL401", body)
    assert finding.assumptions == ("only with `--clip > 0`; its default is 0.0",)


def test_what_leaves_out_a_clear_is_an_option_too() -> None:
    body = (
        "criterion(model(x), y).backward()\noptimizer.step()\n"
        "if not args.fp16:\n    optimizer.zero_grad()\n"
    )
    assert the("GL101", body).condition == "only with `--fp16` on; it is off by default"


def test_what_changes_on_the_way_has_no_default_by_whatever_name() -> None:
    before = "def other(seen=0):\n    return seen\n\nseen = 0\n"
    body = (
        "seen = seen + len(x)\ncriterion(model(x), y).backward()\noptimizer.step()\n"
        "if seen > 100:\n    optimizer.zero_grad()\n"
    )
    assert the("GL101", body, before=before).condition == ""
