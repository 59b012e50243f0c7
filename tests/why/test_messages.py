"""Every message is one that torch really prints, and is found again in its traceback."""

from __future__ import annotations

import traceback
import warnings

import pytest

from gradledger.why import ENTRIES, MESSAGES, matches
from gradledger.why.matching import says
from tests.why.provocations import PROVOCATIONS

CASES = [
    (entry.name, number) for entry in MESSAGES for number in range(len(PROVOCATIONS[entry.name]))
]


def test_each_message_has_a_program_that_provokes_it() -> None:
    assert list(PROVOCATIONS) == [entry.name for entry in MESSAGES]
    for entry in MESSAGES:
        assert len(entry.messages) == len(PROVOCATIONS[entry.name]), entry.name


@pytest.mark.parametrize(("name", "number"), CASES, ids=[f"{n}-{i}" for n, i in CASES])
def test_torch_prints_the_message_and_it_leads_to_its_entry(name: str, number: int) -> None:
    entry = next(entry for entry in MESSAGES if entry.name == name)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(Exception) as raised:  # noqa: PT011  # of many types
            PROVOCATIONS[name][number]()
    assert says(entry.messages[number], str(raised.value))
    text = "".join(traceback.format_exception(raised.value))
    assert matches(text, ENTRIES)[0] is entry
