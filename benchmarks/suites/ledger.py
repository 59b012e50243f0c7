"""What keeping the books costs: next to the training step itself, and by the kind of loop."""

from __future__ import annotations

import dataclasses

import torch
from torch import nn

from benchmarks.measure import compare
from benchmarks.results import Ratios, Results, versions
from gradledger.ledger import Book, Place
from gradledger.ledger.events import Backward, Batch, Clear, Declare, Event, Own, Step, Weight
from gradledger.ledger.values import Value, replace
from gradledger.rules import judge, stops
from gradledger.static import Branch, Do, Interpreter, Loop, Program, Sequence

ITERATIONS = 300
OURS = "gradledger: Value"
ABOUT = """\
The books themselves, apart from what fills them: events posted while a very small model trains, \
programs followed on every path by the checker's interpreter, and the frozen values that all of it \
is made of, next to dataclasses."""


def at(line: int) -> Place:
    return Place("train.py", line)


def book(rounds: int) -> Ratios:
    """The plain loop of a very small model, with and without its events posted."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    x, y = torch.randn(32, 10), torch.randn(32, 1)
    cells = frozenset(name for name, _ in model.named_parameters())
    opening: tuple[Event, ...] = (Declare(at(1), cells), Own(at(2), "optimizer", cells))
    events = (
        Batch(at(3)),
        Clear(at(4), cells),
        Backward(at(5), cells, Weight("mean", 1, 32)),
        Step(at(6), "optimizer"),
    )
    never_cleared = (events[0], *events[2:])

    def train(posted: tuple[Event, ...]) -> None:
        kept = Book(judge)
        for event in opening:
            kept.post(event)
        for _ in range(ITERATIONS):
            optimizer.zero_grad()
            nn.functional.mse_loss(model(x), y).backward()
            optimizer.step()
            for event in posted:
                kept.post(event)

    return compare(
        "The book next to a training step (MLP 10-32-1, SGD), per step",
        {
            "plain loop": lambda: train(()),
            "plain loop again (the noise)": lambda: train(()),
            "with its four events posted": lambda: train(events),
            "the same without a clear (no page repeats)": lambda: train(never_cleared),
        },
        per=ITERATIONS,
        rounds=rounds,
    )


def interpreter(rounds: int) -> Ratios:
    """Loops as people write them, followed on every path."""
    cells = frozenset({"weights"})
    own, nothing = Do(Own(at(1), "optimizer", cells)), Sequence(())
    clear, step = Do(Clear(at(4), cells)), Do(Step(at(6), "optimizer"))
    backward = Do(Backward(at(5), cells, Weight("mean", "n")))
    plain = Loop(Sequence((clear, backward, step)))
    window = Loop(Sequence((Do(Batch(at(3))), backward, Branch(Sequence((step, clear)), nothing))))
    amp = Loop(
        Sequence((Branch(clear, nothing, "amp"), backward, step, Branch(nothing, clear, "amp")))
    )

    def follow(program: Program) -> None:
        Interpreter(judge, stops=stops).run(Sequence((own, Loop(program))))

    return compare(
        "The interpreter, per program",
        {
            "clear, backward, step": lambda: follow(plain),
            "accumulation with a window boundary": lambda: follow(window),
            "a condition tested twice": lambda: follow(amp),
        },
        rounds=rounds,
    )


def values(rounds: int) -> dict[str, Ratios]:
    """The ledger's values against frozen dataclasses of the same shape."""
    names = [f"field_{i}" for i in range(8)]
    annotations = dict.fromkeys(names, "int")
    defaults = dict.fromkeys(names, 0)
    here = {"__module__": __name__, "__annotations__": annotations}

    def as_value() -> type:
        return type("Made", (Value,), {**here, **defaults})

    def as_dataclass() -> type:
        return dataclasses.dataclass(frozen=True, slots=True)(
            type("Made", (), {**here, **defaults})
        )

    defining = compare(
        "Defining a class",
        {"frozen dataclass": as_dataclass, OURS: as_value},
        rounds=4 * rounds,
        peers=["frozen dataclass"],
    )
    value, standard = as_value()(), as_dataclass()()

    def copy_values() -> None:
        for i in range(1000):
            replace(value, field_3=i)

    def copy_standard() -> None:
        for i in range(1000):
            dataclasses.replace(standard, field_3=i)

    copying = compare(
        "A changed copy",
        {"frozen dataclass": copy_standard, OURS: copy_values},
        per=1000,
        rounds=rounds,
        peers=["frozen dataclass"],
    )
    nested_value, nested_standard = {as_value()(value): 0}, {as_dataclass()(standard): 0}
    (value_key,), (standard_key,) = nested_value, nested_standard

    def look_up(table: dict[object, int], key: object) -> None:
        for _ in range(1000):
            table[key]

    looking = compare(
        "Looking up a value that holds a value",
        {
            "frozen dataclass": lambda: look_up(nested_standard, standard_key),
            OURS: lambda: look_up(nested_value, value_key),
        },
        per=1000,
        rounds=rounds,
        peers=["frozen dataclass"],
    )
    return {"values.define": defining, "values.copy": copying, "values.look_up": looking}


def results(quick: bool) -> Results:
    """Everything about the ledger."""
    rounds = 5 if quick else 15
    return Results(
        "ledger",
        "The ledger",
        ABOUT,
        {"book": book(rounds), "interpreter": interpreter(rounds), **values(rounds)},
        quick,
        versions=versions(["gradledger", "torch"]),
    )
