"""What cannot be followed is told, is not called clean, and makes no finding."""

from __future__ import annotations

import pytest

from gradledger.static import budget
from gradledger.static.result import Checked
from gradledger.static.solve import solver
from tests.static.programs import ONE_NET, check, each, shown

UNKNOWN = {
    "a function from nowhere gets the optimizer": """
        from somewhere import update

        for x, y in loader:
            loss = criterion(model(x), y)
            loss.backward()
            update(optimizer)
            optimizer.step()
        """,
    "a function from nowhere clears, or does not": """
        from somewhere import prepare_gradients

        for x, y in loader:
            prepare_gradients(optimizer, model)
            criterion(model(x), y).backward()
            optimizer.step()
        """,
    "a method from nowhere gets the optimizer": """
        from somewhere import Runner

        runner = Runner()
        for x, y in loader:
            criterion(model(x), y).backward()
            optimizer.step()
            runner.after_step(optimizer)
        """,
    "a base class from nowhere owns the optimizer": """
        from somewhere import BaseTrainer

        class Trainer(BaseTrainer):
            def train_batch(self, x, y):
                self.before_backward()
                criterion(self.net(x), y).backward()
                self.optimizer.step()
                self.after_step()

            def fit(self):
                for x, y in loader:
                    self.train_batch(x, y)
        """,
    "functions call each other without end": """
        def here(x, y, depth):
            if depth > 0:
                optimizer.zero_grad()
                return
            criterion(model(x), y).backward()
            there(x, y, depth)

        def there(x, y, depth):
            optimizer.step()
            here(x, y, depth + 1)

        for x, y in loader:
            here(x, y, 0)
        """,
    "a function is chosen at run time": """
        from somewhere import registry, name

        for x, y in loader:
            criterion(model(x), y).backward()
            registry[name](optimizer)
            optimizer.step()
        """,
    "a method is chosen by its name": """
        from somewhere import name

        for x, y in loader:
            criterion(model(x), y).backward()
            getattr(optimizer, name)()
            optimizer.step()
        """,
}

GUESSED: dict[str, str] = {}
SILENT: dict[str, str] = {}


@each(UNKNOWN, after=ONE_NET, wrong=GUESSED)
def test_no_finding_is_made_of_what_is_not_known(text: str) -> None:
    assert shown(check(text)) == set()


@each(UNKNOWN, after=ONE_NET, wrong=SILENT)
def test_what_is_not_known_is_told_with_its_place_and_a_reason(text: str) -> None:
    unknown = check(text).unknown
    assert unknown
    for one in unknown:
        assert one.path == "train.py"
        assert one.line >= 1
        assert one.what
        assert one.why


HIDDEN = {
    "a partial hides its function": """
        from functools import partial

        def update(opt, x, y):
            criterion(model(x), y).backward()
            opt.step()

        go = partial(update, optimizer)
        for x, y in loader:
            go(x, y)
        """,
    "a wrapper's clear does nothing": """
        class Wrapper:
            def __init__(self, inner):
                self.inner = inner

            def zero_grad(self):
                print("cleared")

            def step(self):
                self.inner.step()

        wrapped = Wrapper(optimizer)
        for x, y in loader:
            wrapped.zero_grad()
            criterion(model(x), y).backward()
            wrapped.step()
        """,
    "an update is handed to map": """
        def update(batch):
            criterion(model(batch[0]), batch[1]).backward()
            optimizer.step()

        list(map(update, loader))
        """,
    "a registry holds the update": """
        steps = {}

        def register(function):
            steps[function.__name__] = function
            return function

        @register
        def update(x, y):
            criterion(model(x), y).backward()
            optimizer.step()

        for x, y in loader:
            steps["update"](x, y)
        """,
}


@each(HIDDEN, after=ONE_NET)
def test_a_fault_is_found_or_the_code_is_followed_or_it_is_told(text: str) -> None:
    checked = check(text)
    assert checked.findings or checked.followed or checked.unknown


@pytest.mark.parametrize("call", ["print(optimizer)", "save_checkpoint(model, optimizer)"])
def test_a_call_that_leaves_the_optimizer_alone_hides_no_fault(call: str) -> None:
    text = f"""{ONE_NET}\
from somewhere import save_checkpoint

for x, y in loader:
    criterion(model(x), y).backward()
    optimizer.step()
    {call}
"""
    assert shown(check(text)) == {("GL101", 17)}


def test_a_file_without_gradients_is_neither_followed_nor_unknown() -> None:
    checked = check("import torch\n\nprint(torch.ones(3))\n")
    assert checked == Checked()


def test_a_file_without_an_import_of_torch_may_train_with_it() -> None:
    program = """
def fit(model, optimizer, criterion, loader):
    optimizer.zero_grad()
    for x, y in loader:
        criterion(model(x), y).backward()
        optimizer.step()
"""
    assert shown(check(program)) == {("GL101", 6)}
    assert not check("import mxnet" + program).findings


def test_a_program_of_which_only_a_part_was_followed_is_not_called_known(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    program = f"""{ONE_NET}
from data import options

schedule = torch.optim.lr_scheduler.StepLR(optimizer, 3)
for x, y in loader:
    optimizer.zero_grad()
    criterion(model(x), y).backward()
    if options.late:
        schedule.step()
    if options.clips:
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    if options.early:
        schedule.step()
"""
    whole = check(program)
    assert (whole.followed, whole.unknown) == (1, ())
    monkeypatch.setattr(budget, "MOST_OUTCOMES", 12)
    part = check(program)
    assert part.followed == 0
    assert [unknown.why for unknown in part.unknown] == [solver.IN_PART]


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        ("def probe(net, x):\n    net(x).sum().backward()\n", ["probe()"]),
        (
            "class Base:\n"
            "    def __init__(self):\n        self.opt = None\n"
            "    def fit(self, loss):\n"
            "        if self.opt is None:\n            raise ValueError\n"
            "        loss.backward()\n        self.opt.step()\n",
            ["Base.fit()"],
        ),
        ("text = 'loss.backward()'\n", []),
        (
            "class Own(torch.autograd.Function):\n    def backward(ctx, given):\n"
            "        return kernel.backward(ctx.kept, given)\n",
            [],
        ),
    ],
    ids=["nobody steps", "only a subclass sets it up", "a text", "a definition"],
)
def test_a_backward_in_a_file_that_is_not_followed_is_told(
    program: str, expected: list[str]
) -> None:
    checked = check(f"import torch\n{program}")
    assert not checked.followed
    assert [each.what for each in checked.unknown] == expected
