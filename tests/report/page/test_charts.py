from __future__ import annotations

import json
import re
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from gradledger.report.chronicle import KINDS, together
from gradledger.report.page.charts import document, embedded
from gradledger.report.page.packing import unpacked
from gradledger.rules.ordering import ordered
from tests.report.page import scenes

WEB = Path(__file__).parents[3] / "web" / "src"


@given(st.recursive(st.text(), st.lists, max_leaves=5))
def test_nothing_in_the_data_ends_a_script_or_begins_a_tag(value: object) -> None:
    text = embedded(value)
    assert not set(text) & set("<>&\u2028\u2029")
    assert json.loads(text) == value


def test_the_script_and_the_chronicle_number_the_same_kinds() -> None:
    listed = re.search(r"KINDS = \[(.*?)\]", (WEB / "data.ts").read_text("utf-8"))
    assert listed is not None
    assert tuple(re.findall(r'"(\w+)"', listed[1])) == KINDS


def test_every_turn_deposit_and_spend_is_in_it() -> None:
    chronicle = scenes.accumulation()
    (rank,) = document([chronicle], [], {})["ranks"]
    assert unpacked(rank["turns"]) == list(chronicle.turns)
    assert unpacked(rank["spends"]) == list(chronicle.spends)
    assert len(unpacked(rank["deposits"])) == len(chronicle.deposits)


def test_pins_lead_to_the_findings_of_the_verdict_of_all_ranks() -> None:
    chronicle = scenes.several()
    findings = ordered(together([chronicle]).findings)
    made = document([chronicle], findings, {})
    (pin,) = made["ranks"][0]["pins"]
    assert made["findings"][pin[0]]["rule"] == "GL101"
    assert pin[1:] == [1, 2, 19]


def test_a_leak_is_told_from_what_each_optimizer_may_spend() -> None:
    chronicle = scenes.leak()
    flows = document([chronicle], chronicle.verdict.findings, {})["flows"]
    leaks = [(site, flows["lanes"][lane]) for site, lane, _, _, leak in flows["links"] if leak]
    sites = document([chronicle], [], {})["sites"]
    assert [(sites[flows["sites"][site]][0], lane) for site, lane in leaks] == [
        ("gan.py:5", "opt_d")
    ]


def test_flows_of_all_ranks_are_summed() -> None:
    one, both = (
        document(ranks, [], {})["flows"] for ranks in ([scenes.plain(8)], [scenes.plain(8)] * 2)
    )
    assert [2 * link[3] for link in one["links"]] == [link[3] for link in both["links"]]


def test_a_run_with_one_optimizer_is_told_in_steps_and_one_with_two_in_turns() -> None:
    assert document([scenes.plain(8)], [], {})["noun"] == "step"
    assert document([scenes.leak(4)], [], {})["noun"] == "turn"
