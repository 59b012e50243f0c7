"""What speaks against a finding is noted on an object, and speaks against no other's findings."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gradledger import static
from gradledger.rules.catalogue import CODES
from gradledger.static.certainty.notes import SPEAKS_AGAINST
from gradledger.static.ir import notes
from gradledger.static.ir.notes import Note
from tests.static.programs import ONE_NET, check, correct, each, faulty, shown

RULE = re.compile(r"GL[0-9]{3}")

TWO_NETS = """
other = nn.Linear(8, 3)
theirs = torch.optim.SGD(other.parameters(), lr=0.1)
"""

TWINS = {
    "a step hook on one optimizer, and another one in another function": """
        def hooked(net, data):
            one = torch.optim.SGD(net.parameters(), lr=0.1)
            one.register_step_post_hook(lambda opt, args, kwargs: opt.zero_grad())
            for x, y in data:
                criterion(net(x), y).backward()
                one.step()

        def plain(net, data):
            two = torch.optim.SGD(net.parameters(), lr=0.1)
            for x, y in data:
                criterion(net(x), y).backward()
                two.step()  # GL101
                two.zero_grad()  # right only

        hooked(model, loader)
        plain(other, loader)
        """,
    "a step hook on the optimizer itself, or on the other one": """
        optimizer.register_step_post_hook(lambda opt, args, kwargs: opt.zero_grad())  # right only
        theirs.register_step_post_hook(lambda opt, args, kwargs: opt.zero_grad())  # wrong only
        for x, y in loader:
            criterion(model(x), y).backward()
            optimizer.step()  # GL101
        for x, y in loader:
            theirs.zero_grad()
            criterion(other(x), y).backward()
            theirs.step()
        """,
    "the bound zero_grad of the net itself, or of another one": """
        clear = model.zero_grad  # right only
        clear = other.zero_grad  # wrong only
        for x, y in loader:
            criterion(model(x), y).backward()
            optimizer.step()  # GL101
            clear()
        """,
    "the bound zero_grad of the optimizer itself, or of another one": """
        handlers = {"end": optimizer.zero_grad}  # right only
        handlers = {"end": theirs.zero_grad}  # wrong only
        for x, y in loader:
            criterion(model(x), y).backward()
            optimizer.step()  # GL101
            for handler in handlers.values():
                handler()
        """,
    "a view of a buffer as the gradient of the net itself, or of another one": """
        from buffers import flat

        flat.install()
        for p in model.parameters():  # right only
            p.grad = flat.view_for(p)  # right only
        for q in other.parameters():  # wrong only
            q.grad = flat.view_for(q)  # wrong only
        for x, y in loader:
            criterion(model(x), y).backward()
            optimizer.step()  # GL101
            flat.zero_()
        """,
    "hooks on the gradients of the net itself, or of another one": """
        for p in model.parameters():  # right only
            p.register_hook(lambda g: g / 4)  # right only
        for q in other.parameters():  # wrong only
            q.register_hook(lambda g: g / 4)  # wrong only
        for i, (x, y) in enumerate(loader):
            criterion(model(x), y).backward()  # GL301
            if (i + 1) % 4 == 0 or i + 1 == len(loader):
                optimizer.step()
                optimizer.zero_grad()
        """,
    "a flag that clears the net itself, or another one": """
        spent = len(loader) == 0
        for x, y in loader:
            if spent:  # right only
                optimizer.zero_grad()  # right only
            criterion(model(x), y).backward()
            optimizer.step()  # GL101
            spent = True
        for x, y in loader:
            if spent:  # wrong only
                theirs.zero_grad()  # wrong only
            theirs.zero_grad()
            criterion(other(x), y).backward()
            theirs.step()
        """,
}


@each(TWINS, after=ONE_NET + TWO_NETS)
def test_a_note_on_the_object_itself_speaks_against_the_finding(text: str) -> None:
    assert shown(check(correct(text))) == set()


@each(TWINS, after=ONE_NET + TWO_NETS)
def test_a_note_on_another_object_does_not(text: str) -> None:
    program, expected = faulty(text)
    assert shown(check(program)) == expected


KNOW_NO_RULE = ("lower", "models", "bind", "solve", "ir", "domain")
STATIC = Path(static.__file__).parent


@pytest.mark.parametrize("package", KNOW_NO_RULE)
def test_no_rule_is_named_where_none_is_judged(package: str) -> None:
    sources = sorted((STATIC / package).rglob("*.py"))
    assert sources
    named = {str(path): found for path in sources if (found := RULE.findall(path.read_text()))}
    assert named == {}


def test_the_pipeline_names_no_rule() -> None:
    assert RULE.findall((STATIC / "check.py").read_text()) == []


def test_every_note_speaks_against_some_rule() -> None:
    kinds = {kind for kind in vars(notes).values() if isinstance(kind, type)}
    assert {k for k in kinds if issubclass(k, Note)} - {Note} == SPEAKS_AGAINST.keys()
    assert {rule for rules in SPEAKS_AGAINST.values() for rule in rules} <= set(CODES)
