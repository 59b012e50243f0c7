"""What a program held when it ran out of memory, or what makes its graphs pile up.

Programs that hold graphs rightly are in traps/.
"""

from __future__ import annotations

import runpy
from collections.abc import Iterator
from pathlib import Path
from textwrap import indent

import pytest
import torch

from gradledger.runtime.audit import Audit
from gradledger.runtime.backward.out_of_memory import out_of_memory
from tests.runtime.in_process import audited, marked
from tests.tiers import slow_but_some

HEAD = """\
from collections import defaultdict, deque

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(80, 8)
loader = DataLoader(TensorDataset(x, (x.sum(1) > 0).long()), batch_size=4)
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
loss_fn = nn.CrossEntropyLoss()
"""
TRAIN = """
for number, (inputs, labels) in enumerate(loader):
    output = model(inputs)
    loss = loss_fn(output, labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
DIES = "raise torch.OutOfMemoryError('CUDA out of memory. Tried to allocate 2.00 GiB')\n"
BATCHES = 20

CLASS = """\
class Meter:
    {slots}
    def __init__(self):
        self.sum = 0
    def update(self, value):
        self.sum += value  # here
"""
CLOSURE = """\
def logger():
    kept = []
    def log(value):
        kept.append(value)  # here
    return log
log = logger()
"""
GENERATOR = """\
def averager():
    total = 0
    while True:
        value = yield
        total = total + value  # here
average = averager()
next(average)
"""

HOLDERS = {
    "a sum": ("total = 0", "total = total + loss  # here", "total"),
    "a sum in place": ("total = torch.zeros(())", "total += loss  # here", "total"),
    "a list": ("losses = []", "losses.append(loss)  # here", "losses"),
    "a list that is made anew": ("losses = []", "losses = losses + [loss]  # here", "losses"),
    "a tuple": ("losses = ()", "losses = losses + (loss,)  # here", "losses"),
    "a deque": ("losses = deque()", "losses.append(loss)  # here", "losses"),
    "a dict": ("history = {}", "history[number] = loss  # here", "history"),
    "a list in a dict": (
        "history = defaultdict(list)",
        'history["loss"].append(loss)  # here',
        'history["loss"]',
    ),
    "dicts in a list": ("seen = []", 'seen.append({"loss": loss, "n": 1})  # here', "seen"),
    "an attribute": (
        "class Run: losses = None\nrun = Run()\nrun.losses = []",
        "run.losses.append(loss)  # here",
        "run.losses",
    ),
    "an attribute of a model": (
        "model.losses = []",
        "model.losses.append(loss)  # here",
        "model.losses",
    ),
    "an attribute of a class": (
        "class Log:\n    losses = []",
        "Log.losses.append(loss)  # here",
        "Log.losses",
    ),
    "an object in a dict": (
        CLASS.format(slots="") + 'meters = {"loss": Meter()}',
        'meters["loss"].update(loss)',
        'meters["loss"].sum',
    ),
    "a slot": (
        CLASS.format(slots='__slots__ = ("sum",)') + "meter = Meter()",
        "meter.update(loss)",
        "meter.sum",
    ),
    "a closure": (CLOSURE, "log(loss)", "kept"),
    "a default": ("def log(value, kept=[]):\n    kept.append(value)  # here", "log(loss)", "kept"),
    "a generator": (GENERATOR, "average.send(loss)", "total"),
    "a list under another name": (
        "def put(store, value): store.append(value)\nlosses = []  # here",
        "put(losses, loss)",
        "losses",
    ),
    "a list of outputs": ("outputs = []", "outputs.append(output)  # here", "outputs"),
    "outputs put together": (
        "outputs = torch.zeros(0, 2)",
        "outputs = torch.cat([outputs, output])  # here",
        "outputs",
    ),
}


@pytest.mark.parametrize("name", slow_but_some(6, HOLDERS))
@pytest.mark.parametrize("dies", [True, False], ids=["dies", "ends"])
def test_who_holds_the_graphs_is_named(name: str, dies: bool, tmp_path: Path) -> None:
    setup, keep, holder = HOLDERS[name]
    text = f"{HEAD}{setup}\n{TRAIN}{indent(keep, '    ')}\n{DIES if dies else ''}"
    (finding,), error = audited(tmp_path / "train.py", text)
    assert isinstance(error, torch.OutOfMemoryError) == dies
    assert (finding.rule, finding.at.line) == ("GL701", marked(text))
    assert f"`{holder}` keeps the graphs of {BATCHES} iterations" in finding.detail
    assert f"the oldest {BATCHES} steps old" in finding.detail
    died = [e.at.line for e in finding.evidence if e.what == "out of memory" and e.at]
    assert died == ([len(text.splitlines())] if dies else [])


def test_a_holder_in_another_module_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "logs_of_mine.py").write_text(
        "history = []\n\n\ndef record(loss):\n    history.append(loss)\n", encoding="utf-8"
    )
    monkeypatch.syspath_prepend(tmp_path)
    text = f"import logs_of_mine\n{HEAD}{TRAIN}    logs_of_mine.record(loss)\n"
    (finding,), _ = audited(tmp_path / "train.py", text)
    assert (Path(finding.at.path).name, finding.at.line) == ("logs_of_mine.py", 5)
    assert finding.detail.startswith("`history` keeps")


ENDS = {
    "a tensor too large": "    if number == 3: torch.empty(10**15)\n",
    "a MemoryError": "    if number == 3: raise MemoryError\n",
    "a message": "    if number == 3: raise RuntimeError('MPS backend out of memory (of 9 GB)')\n",
    "a cause": "    if number == 3:\n"
    "        try: torch.empty(10**15)\n"
    "        except RuntimeError as error: raise ValueError('the run failed') from error\n",
}


@pytest.mark.parametrize("name", ENDS)
def test_a_run_that_dies_of_memory_early_is_explained(name: str, tmp_path: Path) -> None:
    text = f"{HEAD}total = 0\n{TRAIN}    total = total + loss  # here\n{ENDS[name]}"
    (finding,), error = audited(tmp_path / "train.py", text)
    assert error is not None
    assert (finding.rule, finding.at.line) == ("GL701", marked(text))
    assert finding.detail == "`total` keeps the graphs of 4 iterations, the oldest 4 steps old"


def test_a_run_that_dies_early_of_something_else_is_not(tmp_path: Path) -> None:
    ends = "    if number == 3: raise RuntimeError('a bad batch')\n"
    text = f"{HEAD}total = 0\n{TRAIN}    total = total + loss\n{ends}"
    assert audited(tmp_path / "train.py", text)[0] == []


EVALUATION = """
def evaluate():
    model.eval()
    kept = {first}
    for inputs, labels in loader:
        {keep}  # here
    {end}
evaluate()
"""


@pytest.mark.parametrize(
    ("first", "keep"),
    [("0", "kept += loss_fn(model(inputs), labels)"), ("[]", "kept.append(model(inputs))")],
)
def test_an_evaluation_that_dies_of_its_graphs_is_explained(
    first: str, keep: str, tmp_path: Path
) -> None:
    evaluation = EVALUATION.format(first=first, keep=keep, end="torch.empty(10**15)")
    text = HEAD + TRAIN + evaluation
    (finding,), _ = audited(tmp_path / "train.py", text)
    assert (finding.rule, finding.at.line) == ("GL701", marked(text))
    assert finding.detail == f"`kept` keeps the graphs of {BATCHES} iterations"
    # A backward may still come, for all that anybody knows, where the model is being trained.
    training = text.replace("model.eval()", "pass")
    assert audited(tmp_path / "training.py", training)[0] == []


STATES = {
    "a variable": ("h = torch.zeros(4, 8)", "new = torch.tanh(inputs * w + h)", "h = new", "h"),
    "an item": (
        'memory = {"h": torch.zeros(4, 8)}',
        'new = torch.tanh(inputs * w + memory["h"])',
        'memory["h"] = new',
        'memory["h"]',
    ),
    "an attribute": (
        "model.h = torch.zeros(4, 8)",
        "new = torch.tanh(inputs * w + model.h)",
        "model.h = new",
        "model.h",
    ),
}
STATE = """
w = torch.ones(8, requires_grad=True)
optimizer = torch.optim.SGD([w], lr=0.01)
{first}
for inputs, labels in loader:
    {make}
    loss = loss_fn(new, labels)
    optimizer.zero_grad()
    loss.backward(retain_graph=True)
    optimizer.step()
    {carry}  # here
"""


@pytest.mark.parametrize("name", STATES)
def test_who_carries_a_state_is_named(name: str, tmp_path: Path) -> None:
    first, make, carry, holder = STATES[name]
    text = HEAD + STATE.format(first=first, make=make, carry=carry) + DIES
    (finding,), _ = audited(tmp_path / "train.py", text)
    assert (finding.rule, finding.at.line) == ("GL702", marked(text))
    assert finding.detail == f"`{holder}` carries the graphs of {BATCHES} iterations"
    assert {e.what for e in finding.evidence} == {"walked again", "out of memory"}


def test_a_state_whose_weights_a_step_has_changed_is_told(tmp_path: Path) -> None:
    """The second backward raises for another reason than a graph that is gone."""
    make = "new = torch.tanh((inputs + h) @ w)"
    text = HEAD + STATE.format(first="h = torch.zeros(4, 8)", make=make, carry="h = new")
    text = text.replace("torch.ones(8, requires", "torch.ones(8, 8, requires")
    (finding,), error = audited(tmp_path / "train.py", text)
    assert "modified by an inplace operation" in str(error)
    assert (finding.rule, finding.at.line) == ("GL702", marked(text))


# Looking around runs no code of the program

BOOBY_TRAPS = """
class Lazy(dict):
    def __getattribute__(self, name): raise SystemExit("asked")
    def __iter__(self): raise SystemExit("asked")
    def __len__(self): raise SystemExit("asked")
    def __getitem__(self, key): raise SystemExit("asked")
class Proxy:
    def __getattribute__(self, name): raise SystemExit("asked")
    def __bool__(self): raise SystemExit("asked")
    def __eq__(self, other): raise SystemExit("asked")
    def __hash__(self): raise SystemExit("asked")
class Own:
    @property
    def __dict__(self): raise SystemExit("asked")
    @property
    def __class__(self): raise SystemExit("asked")
class Meta(type):
    def __getattribute__(cls, name): raise SystemExit("asked")
    def __instancecheck__(cls, value): raise SystemExit("asked")
class Made(metaclass=Meta): pass
class Odd(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if armed: raise SystemExit("asked")
        return super().__torch_function__(func, types, args, kwargs or {})
class Many(list):
    def __iter__(self): raise SystemExit("asked")
    def __len__(self): raise SystemExit("asked")
class Angry(RuntimeError):
    def __str__(self): raise SystemExit("asked")
armed = False
odd = torch.ones(3, requires_grad=True).as_subclass(Odd) * 2
things = [Lazy(a=1), Proxy(), Own(), Made, Made(), odd, Many([1, 2])]
lazy, proxy, own, made, many = Lazy(a=1), Proxy(), Own(), Made, Many([1])
"""


def test_nothing_of_the_programs_is_called_when_looking(tmp_path: Path) -> None:
    text = f"{HEAD}{BOOBY_TRAPS}losses = []\narmed = True\n{TRAIN}    losses.append(loss)\n{DIES}"
    (finding,), error = audited(tmp_path / "train.py", text)
    assert isinstance(error, torch.OutOfMemoryError)
    assert finding.detail.startswith("`losses` keeps")


class Angry(RuntimeError):
    def __str__(self) -> str:
        raise SystemExit("asked")


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (torch.OutOfMemoryError("CUDA out of memory"), True),
        (MemoryError(), True),
        (RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory"), True),
        (RuntimeError("size mismatch"), False),
        (Angry("out of memory"), False),
        (ValueError("out of memory"), False),
    ],
)
def test_what_counts_as_out_of_memory(error: BaseException, expected: bool) -> None:
    assert out_of_memory(error) == expected


def test_what_is_looked_at_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gradledger.runtime.program.reachable_objects.MOST_OBJECTS", 10)
    text = f"{HEAD}a, b, c, d, e, f, g, h, i, j = range(10)\nlosses = []\n"
    text += f"{TRAIN}    losses.append(loss)\n{DIES}"
    program = tmp_path / "train.py"
    program.write_text(text, encoding="utf-8")
    with pytest.raises(torch.OutOfMemoryError), Audit(main=str(program)) as book:
        runpy.run_path(str(program), run_name="__main__")
    assert book.findings == ()
    (unseen,) = book.verdict("").unseen
    assert unseen.what == "graphs"


@pytest.fixture(autouse=True)
def _one_thread(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(
        "gradledger.runtime.program.reachable_objects.SECONDS", 60
    )  # on a busy machine, too
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
