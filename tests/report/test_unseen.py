"""What was not seen is told in every format, and never passes for balanced books."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from gradledger.ledger.unseen import Unseen
from gradledger.ledger.verdict import Verdict
from gradledger.report.balance import balance, fails
from gradledger.report.page.overview import overview
from gradledger.report.rendering import FORMATS
from tests.report.rendered import rendered
from tests.report.stories import all_is_well, nobody_clears, wasted_work

SCHEMA = Draft202012Validator(
    json.loads(
        (Path(__file__).parents[2] / "docs" / "findings.schema.json").read_text(encoding="utf-8")
    )
)
UNSEEN = (
    Unseen("weights", "the loss is compiled", 14),
    Unseen("deposits", "they are sharded", 2, ("w", "b")),
    Unseen("processes", "not Python's", 2, ("4123", "4124")),
)
SAID = (
    "the weights of 14 windows (the loss is compiled); deposits into 2 parameters (they are "
    "sharded); processes 4123, 4124 (not Python's)."
)
TROUBLE = "gradledger has a bug"
WELL = all_is_well()._replace(unseen=UNSEEN)
FAULTY = nobody_clears()._replace(unseen=UNSEEN)
EMPTY = Verdict("train.py", unseen=UNSEEN)


def words(text: str) -> str:
    """Without its line breaks."""
    return " ".join(text.split())


# Text ----------------------------------------------------------------------------------------


def test_without_a_finding_the_headline_speaks_of_what_was_seen() -> None:
    told = rendered(WELL)
    assert told.startswith("No fault found in what was seen: 3,600 deposits, 3,600 spent.\n  600 ")
    assert words(told).endswith(f"6 parameters. Not seen: {SAID}")
    assert "balance" not in told


def test_an_info_is_counted_in_that_headline() -> None:
    told = rendered(wasted_work()._replace(unseen=UNSEEN))
    assert "No fault found in what was seen" in told
    assert "; 1 info." in told
    assert "books" not in told.rpartition("No fault")[2]


def test_books_that_do_not_balance_do_not_with_something_unseen() -> None:
    told = rendered(FAULTY)
    assert "The books do not balance: 1 error." in told
    assert words(told).endswith(f"Not seen: {SAID}")


def test_where_not_all_was_watched_nobody_says_that_there_was_nothing_to_audit() -> None:
    told = rendered(EMPTY)
    assert told.startswith("No verdict: no backward pass of train.py was seen.\nNot seen: ")
    assert "Nothing to audit" not in told
    assert rendered(Verdict("train.py")).startswith("Nothing to audit:")


def test_what_was_not_seen_and_why_the_audit_ended_stand_together() -> None:
    told = words(rendered(WELL._replace(trouble=TROUBLE)))
    assert told.endswith(f"Not seen: {SAID} Not all was audited: {TROUBLE}.")


def test_of_several_ranks_it_says_that_all_are_counted() -> None:
    assert "Not seen, all ranks together: the weights of 14" in rendered(WELL._replace(ranks=2))


@pytest.mark.parametrize("verdict", [WELL, FAULTY, EMPTY], ids=["well", "faulty", "empty"])
@pytest.mark.parametrize(("format", "quiet"), [("text", True), ("concise", False)])
def test_quiet_and_concise_tell_it_too(verdict: Verdict, format: str, quiet: bool) -> None:
    assert words(rendered(verdict, format, quiet=quiet)).endswith(f"Not seen: {SAID}")


def test_a_name_cannot_write_to_the_terminal() -> None:
    hostile = WELL._replace(unseen=(Unseen("processes", "\x1b[2J", 1, ("\x1b[31m",)),))
    for format in ("text", "concise", "github"):
        assert "\x1b" not in rendered(hostile, format)


# Programs ------------------------------------------------------------------------------------


def test_json_lists_it_as_unknown_and_is_not_balanced() -> None:
    told = json.loads(rendered(WELL, "json"))
    SCHEMA.validate(told)
    assert told["balanced"] is False
    assert told["unknown"][1] == {
        "what": "deposits",
        "why": "they are sharded",
        "count": 2,
        "names": ["w", "b"],
    }
    assert len(told["unknown"]) == 3


@pytest.mark.parametrize(
    ("verdict", "balances"),
    [
        (all_is_well(), True),
        (wasted_work(), True),
        (WELL, False),
        (all_is_well()._replace(trouble=TROUBLE), False),
        (nobody_clears(), False),
    ],
)
def test_books_balance_only_where_all_was_seen_and_no_law_broken(
    verdict: Verdict, balances: bool
) -> None:
    assert balance(verdict) is balances
    assert json.loads(rendered(verdict, "json"))["balanced"] is balances


def test_unseen_is_the_strictest_of_what_fails() -> None:
    assert fails(WELL, "unseen")
    assert not fails(WELL, "warning")
    assert fails(nobody_clears(), "unseen")
    assert not fails(all_is_well(), "unseen")
    assert not fails(wasted_work(), "unseen")


def test_sarif_notifies() -> None:
    (run,) = json.loads(rendered(WELL._replace(trouble=TROUBLE), "sarif"))["runs"]
    (invocation,) = run["invocations"]
    assert invocation["executionSuccessful"] is False
    told = invocation["toolExecutionNotifications"]
    assert [one["descriptor"]["id"] for one in told] == ["not-seen", "not-audited"]
    assert [one["level"] for one in told] == ["note", "error"]
    assert told[0]["message"]["text"] == f"Not seen: {SAID}"
    (run,) = json.loads(rendered(WELL, "sarif"))["runs"]
    assert run["invocations"][0]["executionSuccessful"] is True
    (run,) = json.loads(rendered(all_is_well(), "sarif"))["runs"]
    assert "invocations" not in run


def test_github_gets_a_notice_and_for_an_audit_that_ended_a_warning() -> None:
    unseen, trouble = rendered(WELL._replace(trouble=TROUBLE), "github").splitlines()
    assert unseen == f"::notice title=gradledger not-seen::Not seen: {SAID}"
    assert trouble == f"::warning title=gradledger not-audited::Not all was audited: {TROUBLE}."


def test_gitlab_gets_an_entry_that_is_the_same_from_run_to_run() -> None:
    (entry,) = json.loads(rendered(WELL, "gitlab"))
    assert (entry["check_name"], entry["severity"]) == ("not-seen", "info")
    assert entry["description"] == f"Not seen: {SAID}"
    assert entry["location"] == {"path": "train.py", "lines": {"begin": 1}}
    (later,) = json.loads(rendered(WELL._replace(unseen=UNSEEN[:1]), "gitlab"))
    assert later["fingerprint"] == entry["fingerprint"]
    (other,) = json.loads(rendered(WELL._replace(unseen=(), trouble=TROUBLE), "gitlab"))
    assert other["fingerprint"] != entry["fingerprint"]


@pytest.mark.parametrize("format", FORMATS)
def test_no_format_is_silent_about_it(format: str) -> None:
    assert "weights" in rendered(WELL, format)


# The page ------------------------------------------------------------------------------------


def test_the_page_has_a_headline_and_a_remark_for_it() -> None:
    seen = overview((), WELL)
    assert (seen.judged, seen.headline) == ("unseen", "No fault found in what was seen.")
    assert seen.remarks == (f"Not seen: {SAID}",)
    nothing = overview((), EMPTY)
    assert (nothing.judged, nothing.empty) == ("unseen", True)
    assert nothing.headline == "No verdict."
    assert overview((), FAULTY).judged == "unbalanced"
    assert overview((), all_is_well()).judged == "balance"
    assert overview((), Verdict("train.py")).judged == "nothing"
