"""Random events and random programs, for tests that must hold for all of them.

Small worlds find more: two optimizers, a shared scaler, five cells, a handful of call sites.
"""

from __future__ import annotations

from hypothesis import strategies as st

from gradledger.ledger import Place
from gradledger.ledger.events import (
    BY_HAND,
    Backward,
    Batch,
    Clear,
    Clip,
    Compare,
    Declare,
    Edit,
    EpochEnd,
    Event,
    Fault,
    Keep,
    Own,
    Read,
    Release,
    Replace,
    RunEnd,
    Schedule,
    Skipped,
    Step,
    Sync,
    Traits,
    Unscale,
    Update,
    Walk,
    Weight,
)
from gradledger.static import (
    Branch,
    Call,
    Do,
    Forget,
    Leave,
    Loop,
    Program,
    Require,
    Sequence,
    Tick,
    Try,
)

OWNED = {"G": frozenset({"g.weight", "g.bias"}), "D": frozenset({"d.weight", "d.bias"})}
UNOWNED = frozenset({"x"})
ALL_CELLS = frozenset().union(*OWNED.values(), UNOWNED)

OPENING: tuple[Event, ...] = (
    Declare(Place("train.py", 1), frozenset().union(*OWNED.values())),
    *(Own(Place("train.py", 2 + i), name, cells) for i, (name, cells) in enumerate(OWNED.items())),
)
"""What every random program starts with: two optimizers, each with its cells."""

places = st.builds(Place, st.just("train.py"), st.integers(10, 16))
optimizers = st.sampled_from(sorted(OWNED))
some_cells = st.one_of(
    st.sampled_from([*OWNED.values(), ALL_CELLS]),
    st.frozensets(st.sampled_from(sorted(ALL_CELLS)), min_size=1),
)
scalers = st.sampled_from([None, None, "scaler"])
weights = st.builds(
    Weight,
    reduction=st.sampled_from(["mean", "mean", "sum", None]),
    divisor=st.sampled_from([1, 2, 3, "n", None]),
    items=st.sampled_from([None, 4, 8]),
)


def _backward(draw: st.DrawFn) -> Event:
    cells = draw(some_cells)
    bad = draw(st.sampled_from([frozenset(), frozenset(), frozenset({"g.weight"}), cells]))
    return Backward(
        draw(places),
        cells,
        draw(weights),
        draw(scalers),
        non_finite=bad & cells,
        partial=draw(st.sampled_from([False, False, False, True])),
        local=draw(st.booleans()),
        retain_graph=draw(st.booleans()),
        walks=draw(st.frozensets(places, max_size=2)),
        continues=draw(st.sampled_from([False, False, True])),
    )


backwards = st.composite(_backward)()
steps = st.one_of(
    st.builds(Step, places, optimizers, scaler=scalers, moved=some_cells),
    st.builds(Step, places, st.just(BY_HAND), cells=some_cells),
)
clears = st.builds(Clear, places, some_cells, to_none=st.booleans())
core_events = st.one_of(backwards, backwards, steps, steps, clears)
other_events = st.one_of(
    st.builds(
        Edit,
        places,
        some_cells,
        kind=st.sampled_from(["assign", "scale", "change"]),
        factor=st.sampled_from([None, 0.5, 2.0]),
    ),
    st.builds(Read, places, some_cells, needed=st.booleans()),
    st.builds(Unscale, places, optimizers, st.just("scaler")),
    st.builds(Update, places, st.just("scaler")),
    st.builds(Clip, places, some_cells, changes=st.booleans(), unit=scalers),
    st.builds(Schedule, places, st.just("scheduler"), optimizers),
    st.builds(Sync, places, some_cells),
    st.builds(Skipped, places, optimizers, st.just("scaler")),
    st.builds(Keep, places, what=st.sampled_from(["loss", "state"]), unwalked=st.booleans()),
    st.builds(Release, places, kept=places),
    st.builds(Walk, places, walks=st.frozensets(places, max_size=2)),
    st.builds(Batch, places),
    st.builds(Batch, places, cells=some_cells),
    st.builds(Fault, places),
    st.builds(Fault, places, cells=some_cells),
    st.builds(Compare, places, some_cells, equal=st.booleans()),
    st.builds(
        EpochEnd,
        places,
        restarts=st.sampled_from([True, False, None]),
        cells=st.one_of(st.none(), some_cells),
    ),
    st.builds(RunEnd, places, crashed=st.booleans()),
    st.builds(
        Declare,
        places,
        some_cells,
        traits=st.builds(Traits, frozen=st.booleans(), low_precision=st.booleans()),
    ),
    st.builds(Replace, places, some_cells),
)
events = st.one_of(core_events, core_events, other_events)
event_lists = st.lists(events, max_size=25)

STARTS, ENDS = "a window starts", "a window ends"
FIRST, LAST, RAN_OUT = "the first round", "the last round", "the rounds are over"
conditions = st.sampled_from([None, None, "amp", "warm", STARTS, ENDS, FIRST, LAST, RAN_OUT])


def _grow(parts: st.SearchStrategy[Program]) -> st.SearchStrategy[Program]:
    return st.one_of(
        st.builds(Sequence, st.lists(parts, min_size=1, max_size=5).map(tuple)),
        st.builds(Branch, parts, parts, conditions),
        st.builds(
            Loop,
            parts,
            at_least=st.sampled_from([0, 0, 1, 2]),
            last=st.sampled_from([None, None, LAST]),
            first=st.sampled_from([None, None, FIRST]),
            ran_out=st.sampled_from([None, None, RAN_OUT]),
            anew=st.sampled_from([frozenset(), frozenset({"warm"})]),
        ),
        st.builds(Forget, st.sampled_from(["amp", "warm", ENDS])),
        st.builds(Tick, st.just(STARTS), st.just(ENDS), long=st.booleans()),
        st.builds(Leave, st.sampled_from(["break", "continue", "return", "raise"])),
        st.builds(Call, parts, left_by=st.sampled_from(["return", "continue", "break"])),
        st.builds(Try, parts, parts, fault=st.one_of(st.none(), st.builds(Fault, places))),
        st.builds(Require, some_cells),
    )


any_programs = st.recursive(st.builds(Do, events), _grow, max_leaves=12)


# Loops that people write, with lines dropped, doubled, swapped and made conditional: where the
# faults are, and where purely random programs hardly ever get to.


def _line(number: int) -> Place:
    return Place("loop.py", number)


G, D, X = OWNED["G"], OWNED["D"], UNOWNED
MEAN, HALF = Weight("mean", 1, 4), Weight("mean", 2, 4)

LOOPS: dict[str, tuple[Event, ...]] = {
    "plain": (
        Clear(_line(1), G),
        Backward(_line(2), G, MEAN),
        Clip(_line(3), G),
        Step(_line(4), "G", moved=frozenset({"g.bias"})),
        Schedule(_line(5), "scheduler", "G"),
    ),
    "accumulation": (
        Batch(_line(11)),
        Backward(_line(12), G, HALF, local=True),
        Sync(_line(12), G),
        Batch(_line(13)),
        Backward(_line(12), G, HALF, local=True),
        Sync(_line(12), G),
        Step(_line(14), "G"),
        Clear(_line(15), G, to_none=False),
    ),
    "uneven accumulation": (
        Batch(_line(21)),
        Backward(_line(22), G | X, MEAN),
        Clip(_line(23), G),
        Batch(_line(24)),
        Backward(_line(22), G | X, Weight("mean", 1, 3)),
        Clip(_line(23), G),
        Schedule(_line(25), "scheduler", "G"),
        Step(_line(26), "G"),
        Clear(_line(27), G),
    ),
    "amp": (
        Backward(_line(31), G, MEAN, "scaler"),
        Unscale(_line(32), "G", "scaler"),
        Clip(_line(33), G),
        Step(_line(34), "G", scaler="scaler"),
        Update(_line(35), "scaler"),
        Clear(_line(36), G),
    ),
    "gan": (
        Clear(_line(41), G),
        Backward(_line(42), G | D, scaler="scaler"),
        Step(_line(43), "G", scaler="scaler"),
        Clear(_line(44), D),
        Backward(_line(45), D),
        Step(_line(46), "D"),
        Update(_line(47), "scaler"),
    ),
    "recurrent": (
        Keep(_line(51), "state"),
        Backward(_line(52), G, retain_graph=True, walks=frozenset({_line(51)})),
        Step(_line(53), "G"),
        Clear(_line(54), G),
        Keep(_line(55), "loss"),
        Release(_line(56), _line(51)),
    ),
    "by hand": (
        Backward(_line(61), G | X),
        Read(_line(62), G, needed=True),
        Edit(_line(63), G, "scale", 0.5),
        Step(_line(64), BY_HAND, cells=G | X),
        Clear(_line(65), G | X),
        Fault(_line(66)),
    ),
    "framework": (
        Backward(_line(71), G, Weight("mean", 2, 4, framework_divides=True)),
        Step(_line(72), "G"),
        Clear(_line(73), G),
    ),
    "left out": (
        Declare(_line(101), X),
        Backward(_line(102), G | X, MEAN),
        Step(_line(103), "G"),
        Clear(_line(104), G),
    ),
    "heads in turn": (
        Backward(_line(111), frozenset({"g.weight"})),
        Step(_line(112), "G", moved=frozenset({"g.bias"})),
        Clear(_line(113), G, to_none=False),
        Backward(_line(114), frozenset({"g.bias"})),
        Step(_line(115), "G", moved=frozenset({"g.weight"})),
        Clear(_line(116), G, to_none=False),
    ),
    "new head": (
        Replace(_line(121), frozenset({"g.bias"}), by=X),
        Backward(_line(122), frozenset({"g.weight"}) | X),
        Step(_line(123), "G"),
        Clear(_line(124), G),
    ),
    "ranks": (
        Batch(_line(131)),
        Backward(_line(132), G, HALF, local=True),
        Batch(_line(133)),
        Fault(_line(134)),
        Backward(_line(132), G, HALF, local=True),
        Step(_line(135), "G"),
        Compare(_line(135), G, equal=False),
        Clear(_line(136), G),
    ),
    "two owners": (
        Own(_line(81), "third", G),
        Backward(_line(82), G | D, MEAN, non_finite=frozenset({"g.bias"})),
        Step(_line(83), "G", vanished=frozenset({"g.bias"})),
        Step(_line(84), "third"),
        Clear(_line(85), G),
    ),
}


def _altered_loop(draw: st.DrawFn) -> Program:
    lines = [Do(event) for event in draw(st.sampled_from(list(LOOPS.values())))]
    parts: list[Program] = []
    for line in lines:
        match draw(st.sampled_from(["keep"] * 12 + ["drop", "branch", "swap", "repeat"])):
            case "keep":
                parts.append(line)
            case "branch":
                parts.append(Branch(line, Sequence(()), draw(conditions)))
            case "swap":
                parts.insert(max(0, len(parts) - 1), line)
            case "repeat":
                parts.append(Loop(line))
    epoch_end = EpochEnd(_line(90), draw(st.sampled_from([True, False, None])))
    epoch = Sequence((Loop(Sequence(tuple(parts))), Do(epoch_end)))
    epochs: Program = Loop(epoch) if draw(st.booleans()) else epoch
    return Sequence((epochs, Do(RunEnd(_line(91)))))


altered_loops = st.composite(_altered_loop)()
programs = st.one_of(altered_loops, altered_loops, any_programs)
