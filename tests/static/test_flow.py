"""Where two ways meet: the join of all that holds at a point of the code."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gradledger.ledger.values import replace
from gradledger.static.domain.flow import Flow, again, join
from gradledger.static.domain.values import (
    NONE,
    PLAIN,
    UNKNOWN,
    Constant,
    Count,
    Known,
    Parameters,
    Thing,
)

KEYS = st.frozensets(st.sampled_from(["net", "net.head", "critic"]))
NAMES = st.sampled_from(["x", "y", "loss", "net"])
CONDITIONS = st.frozensets(
    st.tuples(st.sampled_from(["net", "critic"]), st.sampled_from(["amp", "warm"]), st.booleans())
)
PLACES = st.frozensets(st.tuples(st.sampled_from(["", "f#1:"]), st.integers(0, 2)))

KNOWN: st.SearchStrategy[Known] = st.one_of(
    st.sampled_from([NONE, PLAIN, UNKNOWN, Constant.of(1), Constant.of(True), Count("")]),
    st.builds(Parameters, KEYS),
    st.builds(Thing, st.just(""), KEYS, sure=st.booleans(), optional=st.booleans()),
)

FLOWS = st.builds(
    Flow,
    st.dictionaries(NAMES, KNOWN),
    frozen=KEYS,
    half_frozen=KEYS,
    frozen_if=CONDITIONS,
    evaluating=KEYS,
    guarded=KEYS,
    grad_in_doubt=st.booleans(),
    held_back=st.booleans(),
    listening=st.booleans(),
    rest_at=PLACES,
)


@given(FLOWS)
def test_to_meet_oneself_changes_nothing(flow: Flow) -> None:
    assert join(flow, replace(flow, store=dict(flow.store))) == flow


@given(FLOWS, FLOWS)
def test_it_does_not_matter_who_comes_first(one: Flow, other: Flow) -> None:
    assert join(one, other) == join(other, one)


@given(FLOWS, FLOWS)
def test_what_both_know_for_certain_is_known(one: Flow, other: Flow) -> None:
    met = join(one, other)
    for certain in ("frozen", "evaluating", "guarded"):
        ours, theirs = getattr(one, certain), getattr(other, certain)
        assert getattr(met, certain) == ours & theirs
    assert met.held_back == (one.held_back and other.held_back)
    for name in one.store.keys() & other.store.keys():
        if one.store[name] == other.store[name]:
            assert met.store[name] == one.store[name]


@given(FLOWS, FLOWS)
def test_what_an_answer_has_frozen_stays_so_where_the_other_way_has_frozen_it_anyway(
    one: Flow, other: Flow
) -> None:
    met = join(one, other).frozen_if
    assert one.frozen_if & other.frozen_if <= met <= one.frozen_if | other.frozen_if
    for fact in one.frozen_if - other.frozen_if:
        assert (fact in met) is (fact[0] in other.frozen)


@given(FLOWS, FLOWS)
def test_what_one_holds_possible_is_possible(one: Flow, other: Flow) -> None:
    met = join(one, other)
    assert met.half_frozen == one.half_frozen | other.half_frozen
    assert met.rest_at == one.rest_at | other.rest_at
    assert met.listening == (one.listening or other.listening)
    assert met.grad_in_doubt == (one.grad_in_doubt or other.grad_in_doubt)
    assert met.store.keys() == one.store.keys() | other.store.keys()


@given(FLOWS, FLOWS)
def test_neither_way_is_changed_by_meeting_the_other(one: Flow, other: Flow) -> None:
    before = dict(one.store), dict(other.store)
    join(one, other)
    again(one, other, {"x": NONE})
    assert (one.store, other.store) == before


@given(FLOWS, FLOWS)
def test_the_next_round_finds_frozen_what_the_last_has_left(before: Flow, after: Flow) -> None:
    begins = again(before, after, {"x": NONE})
    assert begins.frozen == after.frozen
    assert begins.frozen_if == after.frozen_if
    assert begins.store["x"] == NONE
    assert begins.evaluating == before.evaluating & after.evaluating
