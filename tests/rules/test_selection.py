from __future__ import annotations

import pytest

from gradledger.errors import UnknownRuleError
from gradledger.rules import CATALOGUE, find
from gradledger.rules.selection import choose, codes


@pytest.mark.parametrize(
    "word", ["GL101", "gl101", "101", "spent-gradient-reused", "Spent-Gradient", " GL101 "]
)
def test_a_rule_is_found_by_code_name_or_start_of_its_name(word: str) -> None:
    assert choose(word) == [find("GL101")]


@pytest.mark.parametrize("word", ["1", "GL1", "gl1", "GL10"])
def test_a_law_stands_for_all_its_rules(word: str) -> None:
    assert [rule.code for rule in choose(word)] == ["GL101", "GL102"]


def test_all_rules_are_selected_where_none_is_named() -> None:
    assert codes() == {rule.code for rule in CATALOGUE}
    assert codes(select=[""], ignore=[" , "]) == codes()


def test_a_list_may_mix_codes_names_and_laws() -> None:
    assert codes(select=["GL101, window-left-over", "5"]) == {
        "GL101",
        "GL203",
        *("GL501", "GL502", "GL503", "GL504"),
    }


def test_what_is_ignored_is_not_selected() -> None:
    assert codes(select=["GL1,GL201"], ignore=["GL102"]) == {"GL101", "GL201"}
    assert codes() - codes(ignore=["GL1"]) == {"GL101", "GL102"}


@pytest.mark.parametrize("lists", [{"select": ["GL101,GL1O1"]}, {"ignore": ["bananas"]}], ids=str)
def test_a_word_that_means_no_rule_is_an_error(lists: dict[str, list[str]]) -> None:
    with pytest.raises(UnknownRuleError):
        codes(**lists)
