"""Batches and hidden states of every shape that people give them."""

from __future__ import annotations

import types
from collections import OrderedDict, UserDict, defaultdict, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn.utils.rnn import PackedSequence, pack_sequence, pad_packed_sequence

from gradledger.engine.trees import detach, rows, split
from gradledger.errors import OptionError


class Pair(NamedTuple):
    hidden: Any
    cell: Any


@dataclass
class State:
    hidden: Any
    age: int = 3
    seen: Any = field(default=None, init=False)

    def __post_init__(self) -> None:
        self.made_from = "scratch"


@dataclass(frozen=True, slots=True)
class Frozen:
    hidden: Any


class Encoding(UserDict[str, Any]):
    """Like BatchEncoding of transformers: another signature, and attributes for keys."""

    def __init__(self, *, ids: Any, device: str) -> None:
        super().__init__({"hidden": ids})
        self.device = device

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["data"][name]
        except KeyError:
            raise AttributeError(name) from None


class Output(OrderedDict[str, Any]):
    """Like ModelOutput of transformers: a dict that keeps attributes in step."""

    def __setitem__(self, key: str, value: Any) -> None:
        super().__setitem__(key, value)
        super().__setattr__(key, value)


class Listed(list[Any]):
    note = ""


def output(tensor: Tensor) -> Output:
    made = Output()
    made["hidden"] = tensor
    return made


NESTS: dict[str, tuple[Callable[[Tensor], Any], Callable[[Any], Any]]] = {
    "itself": (lambda t: t, lambda s: s),
    "tuple": (lambda t: (1, t), lambda s: s[1]),
    "list": (lambda t: ["a", t], lambda s: s[1]),
    "dict": (lambda t: {"hidden": t}, lambda s: s["hidden"]),
    "OrderedDict": (lambda t: OrderedDict(hidden=t), lambda s: s["hidden"]),
    "defaultdict": (lambda t: defaultdict(list, hidden=t), lambda s: s["hidden"]),
    "proxy": (lambda t: types.MappingProxyType({"hidden": t}), lambda s: s["hidden"]),
    "UserDict": (lambda t: Encoding(ids=t, device="cpu"), lambda s: s["hidden"]),
    "dict with attributes": (output, lambda s: s.hidden),
    "list subclass": (lambda t: Listed([t]), lambda s: s[0]),
    "deque": (lambda t: deque([t], maxlen=3), lambda s: s[0]),
    "named tuple": (lambda t: Pair(t, None), lambda s: s.hidden),
    "result of torch": (lambda t: torch.max(t, 0), lambda s: s.values),
    "dataclass": (State, lambda s: s.hidden),
    "frozen dataclass": (Frozen, lambda s: s.hidden),
    "deep": (
        lambda t: {"layers": [(Pair(State([t]), 0),)]},
        lambda s: s["layers"][0][0][0].hidden[0],
    ),
}


@pytest.mark.parametrize("nest", NESTS)
def test_a_detached_state_has_its_structure_and_memory_and_no_graph(nest: str) -> None:
    wrap, get = NESTS[nest]
    state = wrap(torch.ones(3, 2, requires_grad=True) * 2)
    before = get(state)
    detached = detach(state)
    after = get(detached)
    assert type(detached) is type(state)
    assert before.grad_fn is not None, "the state itself is as it was"
    assert after.grad_fn is None
    assert not after.requires_grad
    assert after.data_ptr() == before.data_ptr()


def test_a_detached_copy_keeps_what_else_an_object_holds() -> None:
    state = State(torch.ones(2, requires_grad=True))
    state.made_from = "another"
    assert detach(state).made_from == "another"
    encoding = detach(Encoding(ids=torch.ones(2, requires_grad=True), device="cuda"))
    assert encoding.device == "cuda"
    assert detach(deque([torch.ones(1)], maxlen=3)).maxlen == 3
    counts: defaultdict[str, Any] = defaultdict(list, a=torch.ones(1))
    assert detach(counts)["new"] == []


def test_a_packed_sequence_is_detached_and_still_unpacks() -> None:
    long = torch.ones(3, requires_grad=True)
    packed = detach(pack_sequence([torch.ones(2), long * 2], enforce_sorted=False))
    assert isinstance(packed, PackedSequence)
    assert packed.data.grad_fn is None
    padded, lengths = pad_packed_sequence(packed)
    assert padded.t().tolist() == [[1, 1, 0], [2, 2, 2]]
    assert lengths.tolist() == [2, 3]


@pytest.mark.parametrize(
    "state",
    [None, 3, "abc", b"x", torch.Size([2]), [1, "a"], {"a": (1,)}, object(), State, range(3)],
)
def test_what_holds_no_tensor_is_handed_on_itself(state: object) -> None:
    assert detach(state) is state


@pytest.mark.parametrize("work", [detach, rows, lambda state: split(state, 1)])
def test_a_state_too_deep_or_endless_is_refused_in_words(work: Callable[[Any], Any]) -> None:
    deep: list[Any] = [torch.ones(2)]
    for _ in range(100_000):
        deep = [deep]
    endless: list[Any] = [torch.ones(2)]
    endless.append(endless)
    for state in (deep, endless):
        with pytest.raises(OptionError, match="too deep"):
            work(state)


X = torch.arange(10).reshape(5, 2)
Y = torch.arange(5)
TEXTS = ["a", "b", "c", "d", "e"]


@pytest.mark.parametrize(
    ("batch", "expected"),
    [
        (X, 5),
        ([X, Y], 5),
        ((X, {"y": Y, "mask": None}), 5),
        ({"x": X, "scale": torch.tensor(2.0), "name": "train", "epoch": 3}, 5),
        (Pair(X, State(Y)), 5),
        (Encoding(ids=X, device="cpu"), 5),
        ((TEXTS, Y), 5),
        ((tuple(TEXTS), Y), 5),
        (TEXTS, 5),
        ({"texts": TEXTS, "labels": [0, 1, None, 1, 2.5]}, 5),
        ({"x": X, "array": np.zeros((5, 3))}, 5),
        ({"x": X, "empty": [], "object": object()}, 5),
        (torch.zeros(0, 3), 0),
    ],
)
def test_rows_are_those_that_all_columns_share(batch: object, expected: int) -> None:
    assert rows(batch) == expected


@pytest.mark.parametrize(
    "batch",
    [
        None,
        3,
        "hello",
        {},
        torch.tensor(1.0),
        (X, Y[:4]),
        (X, TEXTS[:4]),
        {"x": X, "size": (224, 224)},
        (TEXTS, TEXTS),
        {"x": X, "tokens": [[1, 2, 3, 4, 5]] * 5},
        {"x": X, "about": [{"id": 1}] * 5},
        {"x": X, "tags": {"a", "b"}},
        {"x": X, "texts": deque(TEXTS)},
        {"x": X, "array": np.zeros(4)},
        pack_sequence([torch.ones(5)]),
        (X, pack_sequence([torch.ones(5)])),
        torch.eye(5).to_sparse(),
    ],
)
def test_rows_are_not_guessed(batch: object) -> None:
    assert rows(batch) is None
    with pytest.raises(OptionError, match=r"can't be split: .+\. Keep in it"):
        split(batch, 2)


def test_pieces_are_cut_along_the_first_dimension_and_single_values_are_in_each() -> None:
    one = torch.tensor(2.0)
    batch: dict[str, Any] = {
        "x": X,
        "more": (Y, TEXTS, None),
        "scale": one,
        "name": "train",
        "n": 7,
    }
    pieces = split(batch, 2)
    assert [piece["x"].tolist() for piece in pieces] == [X[:2].tolist(), X[2:4].tolist(), [[8, 9]]]
    assert [piece["more"][0].tolist() for piece in pieces] == [[0, 1], [2, 3], [4]]
    assert [piece["more"][1] for piece in pieces] == [["a", "b"], ["c", "d"], ["e"]]
    for piece in pieces:
        assert piece["scale"] is one
        assert (piece["name"], piece["n"], piece["more"][2]) == ("train", 7, None)


@pytest.mark.parametrize("size", range(1, 8))
def test_pieces_together_are_the_batch(size: int) -> None:
    pieces = split((X, TEXTS, np.arange(5)), size)
    assert torch.equal(torch.cat([x for x, _, _ in pieces]), X)
    assert [text for _, texts, _ in pieces for text in texts] == TEXTS
    assert np.concatenate([array for _, _, array in pieces]).tolist() == [0, 1, 2, 3, 4]
    assert all(0 < len(x) <= size for x, _, _ in pieces)


@pytest.mark.parametrize(
    "batch", [Pair(X, Y), State(X), Frozen(X), Encoding(ids=X, device="cpu"), output(X), [X], (X,)]
)
def test_a_piece_is_of_the_type_of_its_batch(batch: Any) -> None:
    pieces = split(batch, 3)
    assert [rows(piece) for piece in pieces] == [3, 2]
    assert {type(piece) for piece in pieces} == {type(batch)}
    assert rows(batch) == 5


def test_a_batch_that_is_small_enough_is_its_own_piece() -> None:
    batch = [X, Y]
    assert split(batch, 5)[0] is batch
    empty = torch.zeros(0, 3)
    assert split(empty, 1)[0] is empty


def test_gradients_flow_from_a_piece_to_the_batch() -> None:
    batch = torch.ones(4, requires_grad=True)
    (gradient,) = torch.autograd.grad(split(batch, 2)[1].sum(), batch)
    assert gradient.tolist() == [0, 0, 1, 1]


@pytest.mark.parametrize("size", [0, -1])
def test_pieces_without_rows_are_refused(size: int) -> None:
    with pytest.raises(OptionError, match=f"can't have {size} rows"):
        split(X, size)


def test_a_refusal_names_the_numbers_that_differ() -> None:
    with pytest.raises(OptionError, match=r"differ \(5, 4\)"):
        split((X, Y[:4]), 2)


def test_a_mapping_is_typed_through() -> None:
    batch: Mapping[str, Tensor] = {"x": X}
    first: Mapping[str, Tensor] = split(detach(batch), 2)[0]
    assert first["x"].shape == (2, 2)
