"""From what tools say to tables."""

from __future__ import annotations

from benchmarks.said import Everything, Said, sums, verdicts
from benchmarks.suites.auditor import _of
from benchmarks.traincheck import Judged
from benchmarks.watching import _complaints
from gradledger.rules import find

RULES = [find("GL101"), find("GL102")]


def test_what_is_said_of_both_programs_finds_nothing() -> None:
    said = Said.of({"W1", "W2"}, {"W1", "W2"})
    assert said.found == 0
    assert said.cell().verdict == "says the same of both"
    assert said.cell().good is False


def test_what_is_said_of_the_bad_program_alone_is_found() -> None:
    assert Said.of({"W1"}, set()).cell().verdict == "found"
    assert Said.of({"W1"}, set()).cell().good is True


def test_a_complaint_of_the_good_program_is_false_even_where_the_fault_is_found() -> None:
    cell = Said.of({"W1", "W2"}, {"W2", "W3"}).cell()
    assert (cell.verdict, cell.good) == ("found, 2 false", False)


def test_silence_is_a_miss() -> None:
    assert Said.of(set(), set()).cell().verdict == "missed"


def test_of_us_the_right_rule_at_another_line_finds_nothing() -> None:
    said = Said.of({"GL101 in line 3"}, set(), {"GL101 in line 4"})
    assert said.found == 0


def test_a_tool_that_could_not_be_asked_is_not_counted() -> None:
    said: Everything = {
        "gradledger": {"GL101": Said(1, 1, 0), "GL102": Said(1, 1, 0)},
        "half": {"GL101": Said(0, 0, 3), "GL102": "it crashes"},
        "absent": {"GL101": "not installed", "GL102": "not installed"},
    }
    table = verdicts("rule by rule", RULES, said)
    assert table.cells["GL102"]["half"].how == "it crashes"
    assert table.cells["GL102"]["half"].good is None
    both = sums("in all", said)
    assert [both.cells["found"][tool].verdict for tool in both.candidates] == [
        "2 of 2",
        "0 of 1",
        "not measured",
    ]
    assert [both.cells["false"][tool].verdict for tool in both.candidates] == [
        "0 of 2",
        "1 of 1",
        "not measured",
    ]


def test_traincheck_finds_what_only_the_bad_program_breaks() -> None:
    def verdict(judged: Judged | None) -> str:
        said = _of(judged)
        return said if isinstance(said, str) else said.cell().verdict

    assert verdict(None) == "not measured yet"
    assert verdict(Judged("key", trouble="it is killed")) == "it is killed"
    assert verdict(Judged("key", 500, bad=9, good=0, only_bad=9)) == "found"
    assert verdict(Judged("key", 500, bad=9, good=4, only_bad=5)) == "found, 4 false"
    assert verdict(Judged("key", 500, bad=4, good=4, only_bad=0)) == "says the same of both"


def test_warnings_and_the_last_exception_are_complaints_and_detect_anomaly_s_own_is_none() -> None:
    said = """\
/x/anomaly.py:3: UserWarning: Anomaly Detection has been enabled. This mode is slow.
  with torch.autograd.detect_anomaly():
/x/train.py:8: UserWarning: Detected call of `lr_scheduler.step()` first.
Traceback (most recent call last):
  File "/x/train.py", line 9, in <module>
RuntimeError: Function 'PowBackward0' returned nan values in its 0th output.
"""
    assert list(_complaints(said)) == [
        "UserWarning: Detected call of `lr_scheduler.step()` first.",
        "RuntimeError: Function 'PowBackward0' returned nan values in its 0th output.",
    ]
