"""Objects that raise when anything is asked of them, as lazy ones of large libraries may."""

# mypy: ignore-errors

import sys
from collections import OrderedDict
from types import ModuleType

import torch
import torch._dynamo  # asks all modules that are there when it is imported
from torch import nn


def refuse(*_: object, **__: object) -> None:
    sys.stdout.write("an object was asked\n")
    raise AssertionError("an object was asked")


ASKED = [
    "__getattribute__",
    "__getattr__",
    "__eq__",
    "__ne__",
    "__hash__",
    "__len__",
    "__bool__",
    "__iter__",
    "__repr__",
    "__str__",
    "__format__",
    "__contains__",
    "__getitem__",
    "__call__",
    "__index__",
    "__int__",
    "__float__",
    "__dir__",
    "__reversed__",
    "__next__",
    "__torch_function__",
    "__array__",
    "__copy__",
    "items",
    "keys",
    "values",
    "get",
    "copy",
    "shape",
    "grad",
    "parameters",
    "named_parameters",
    "buffers",
    "named_buffers",
    "modules",
    "named_modules",
    "children",
    "named_children",
    "step",
    "optimizer",
    "_version",
]


class Meta(type):
    def __eq__(cls, other: object) -> bool:
        return refuse()

    __hash__ = type.__hash__


def refusing(base: type) -> type:
    """A class below this one that answers nothing."""
    body = dict.fromkeys(ASKED, refuse)
    body |= {name: property(refuse) for name in ("__class__", "__dict__", "optimizer", "shape")}
    kind = Meta if type(base) is type else type("Both", (Meta, type(base)), {})
    return kind(f"Refusing{base.__name__}", (base,), body)


Plain, Dict, Ordered, List, Tuple, Set = map(
    refusing, (object, dict, OrderedDict, list, tuple, set)
)
plain, mapping, ordered = Plain(), Dict(), Ordered()
dict.__setitem__(mapping, "key", Plain())
several, pair, some = List([Plain(), Plain()]), Tuple((Plain(), Plain())), Set()
held = {"plain": plain, 3: mapping, (1, 2): ordered, "list": [plain, several], "pair": (pair, some)}
listed = [plain, mapping, several, pair]
lazy = refusing(ModuleType)("lazy")
sys.modules["lazy"] = lazy


class Net(nn.Module):
    """Overrides what torch would ask it for."""

    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(4, 1)
        vars(self).update(plain=plain, held=held)  # torch would ask them

    named_parameters = named_buffers = buffers = named_modules = refuse

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.fc(x)


class Trainer:
    def __init__(self) -> None:
        self.plain, self.mapping, self.held, self.lazy = plain, mapping, held, lazy
        self.model = Net()
        self.optimizer = torch.optim.SGD(self.model.fc.parameters(), lr=0.1)
        self.losses = [plain]

    def train(self) -> None:
        here, there, anew = plain, mapping, Plain()
        for turn in range(20):
            asked = [anew, here, there]
            x = torch.randn(8, 4)
            loss = self.model(x).square().mean() / 2
            loss.backward()
            if turn % 2:
                self.optimizer.step()
                self.optimizer.zero_grad()
            del asked


VARIABLES = [
    "plain", "mapping", "ordered", "several", "pair", "some", "held", "listed", "lazy",
]  # fmt: skip
torch.manual_seed(0)
trainer = Trainer()
trainer.train()
scope: dict[str, object] = {"nn": nn, "torch": torch, "plain": plain}
exec(
    """
other = nn.Linear(4, 1)
optimizer = torch.optim.SGD(other.parameters(), lr=0.1)
for i in range(4):
    optimizer.zero_grad()
    other(torch.ones(2, 4)).sum().backward()
    optimizer.step()
""",
    scope,
    {"plain": plain},
)
for name in (*VARIABLES, "trainer", "scope"):  # who compares what is left at the end would ask
    del globals()[name]
del sys.modules["lazy"]
