from __future__ import annotations

from gradledger.ledger import Evidence, Finding, Place
from gradledger.ledger.verdict import Verdict
from gradledger.report.page.findings import Card, cards
from tests.report.page import scenes

SOURCE = """\

for x in loader:

    loss.backward()
    log(loss)

    a = 1
    b = 2
    c = 3

    optimizer.step()

"""


def card(line: int, *evidence: int, text: str = SOURCE, path: str = "train.py") -> Card:
    places = tuple(Evidence("deposited", Place(path, n)) for n in evidence)
    finding = Finding("GL101", Place(path, line), "spends it again", "observed", places)
    verdict = Verdict("train.py", (finding,), sources={path: text})
    (made,) = cards(verdict, [finding], {}, set())
    return made


def numbers(made: Card) -> list[int]:
    return [line.number for line in made.frame]


def test_a_frame_has_some_lines_round_those_that_matter_and_a_gap_between() -> None:
    assert numbers(card(11, 4)) == [2, 3, 4, 5, 6, 0, 9, 10, 11]


def test_a_frame_marks_the_line_of_the_finding_and_the_other_places() -> None:
    kinds = {line.number: line.kind for line in card(11, 4).frame}
    assert (kinds[11], kinds[4], kinds[5]) == ("here", "place", "")


def test_what_all_lines_are_indented_by_is_left_out() -> None:
    assert card(7).frame[0].code == "log(loss)"


def test_a_place_on_an_empty_line_is_shown() -> None:
    assert 3 in numbers(card(3, text="\n\n\n\n\n"))


def test_without_its_source_a_finding_has_no_frame_and_still_says_what_it_is() -> None:
    made = card(99)
    assert made.frame == ()
    assert made.detail == "spends it again"


def test_a_cure_that_is_known_is_preferred_to_the_rules_example() -> None:
    chronicle = scenes.plain(4, clears=False)
    findings = list(chronicle.verdict.findings)
    known = {(findings[0].rule, findings[0].at): "@@ -1 +1 @@\n-a\n+b\n"}
    (cured,) = cards(chronicle.verdict, findings, known, set())
    (other,) = cards(chronicle.verdict, findings, {}, set())
    assert cured.patch.certain
    assert [row.kind for row in cured.patch.rows] == ["gone", "added"]
    assert not other.patch.certain
    assert "example" in other.patch.title
    assert any("zero_grad" in row.code for row in other.patch.rows if row.kind == "added")
