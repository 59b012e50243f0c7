"""Right programs that were written to be blamed, and were; with their faulty twins."""

from __future__ import annotations

import pytest

from tests.static.programs import ONE_NET, check, correct, each, faulty, finds, shown

TWO_NETS = """
author, critic = nn.Linear(8, 8), nn.Linear(8, 1)
ours = torch.optim.Adam(author.parameters())
theirs = torch.optim.Adam(critic.parameters())

"""

TWINS = {
    "a sum of losses is set back together with its counter": """
        total, count = 0, 0
        for x, y in loader:
            total = total + criterion(model(x), y)
            count += 1
            if count == 5:
                optimizer.zero_grad()
                (total / count).backward()
                optimizer.step()
                total, count = 0, 0  # right only
                count = 0  # wrong only
        """,
    "what is computed without gradients is carried without them": """
        class Bank:
            def __init__(self):
                self.mean = torch.zeros(3)

            @torch.no_grad()  # right only
            def update(self, out):
                self.mean = 0.9 * self.mean + 0.1 * out.mean(0)  # GL702

        bank = Bank()
        for x, y in loader:
            out = model(x)
            loss = (out - bank.mean).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            bank.update(out)
        """,
    "a meter that adds without gradients keeps none": """
        class Meter:
            def __init__(self):
                self.total = torch.zeros(())

            @torch.no_grad()  # right only
            def update(self, value):
                self.total += value  # GL701

        meter = Meter()
        for x, y in loader:
            loss = criterion(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            meter.update(loss)
        """,
    "a backward may be given its weight": """
        for i, (x, y) in enumerate(loader):
            loss = criterion(model(x), y)
            loss.backward(gradient=torch.tensor(0.25))  # right only
            loss.backward()  # wrong only, GL203, GL301
            if (i + 1) % 4 == 0 or i + 1 == len(loader):  # right only
            if (i + 1) % 4 == 0:  # wrong only
                optimizer.step()
                optimizer.zero_grad()
        """,
    "a counter is true when it has counted": """
        schedule = torch.optim.lr_scheduler.StepLR(optimizer, 10)
        step = 0
        for epoch in range(epochs):
            for x, y in loader:
                if step:  # right only
                if model:  # wrong only
                    schedule.step()  # GL503
                optimizer.zero_grad()
                criterion(model(x), y).backward()
                optimizer.step()
                step += 1
        """,
    "data is cut to whole windows by a slice": """
        def fit(batches, n):
            usable = len(batches) // n * n
            for i, (x, y) in enumerate(batches[:usable]):  # right only
            for i, (x, y) in enumerate(batches):  # wrong only
                (criterion(model(x), y) / n).backward()  # GL203
                if (i + 1) % n == 0:
                    optimizer.step()
                    optimizer.zero_grad()
        """,
    "or by islice": """
        from itertools import islice

        def fit(batches, n):
            usable = len(batches) - len(batches) % n
            for i, (x, y) in enumerate(islice(batches, usable)):  # right only
            for i, (x, y) in enumerate(batches):  # wrong only
                (criterion(model(x), y) / n).backward()  # GL203
                if (i + 1) % n == 0:
                    optimizer.step()
                    optimizer.zero_grad()
        """,
    "whole windows are insisted on where their size is known": """
        size = 4
        assert len(loader) % size == 0  # right only
        for i, (x, y) in enumerate(loader):
            (criterion(model(x), y) / size).backward()  # GL203
            if (i + 1) % size == 0:
                optimizer.step()
                optimizer.zero_grad()
        """,
    "a frozen part is no part of the training": """
        body, head = nn.Linear(8, 8), nn.Linear(8, 3)
        body.weight.requires_grad_(False)  # right only
        body.bias.requires_grad_(False)  # right only
        one = torch.optim.Adam(head.parameters())  # GL601
        for x, y in loader:
            loss = criterion(head(body(x)), y)
            one.zero_grad()
            loss.backward()
            one.step()
        """,
    "a net may be frozen when it is made": """
        teacher = nn.Linear(8, 3).requires_grad_(False)  # right only
        teacher = nn.Linear(8, 3).to(device)  # wrong only
        one = torch.optim.Adam(model.parameters())  # GL601
        for x, y in loader:
            loss = F.mse_loss(model(x), teacher(x))
            one.zero_grad()
            loss.backward()
            one.step()
        """,
    "a norm without parameters has none to leave out": """
        norm = nn.BatchNorm1d(3, affine=False)  # right only
        norm = nn.BatchNorm1d(3)  # wrong only
        one = torch.optim.Adam(model.parameters())  # GL601
        for x, y in loader:
            loss = criterion(norm(model(x)), y)
            one.zero_grad()
            loss.backward()
            one.step()
        """,
    "a state may be detached by what maps a function over it": """
        from torch.utils._pytree import tree_map

        net = nn.LSTM(8, 8)
        one = torch.optim.Adam(net.parameters())
        state = (torch.zeros(1, 4, 8), torch.zeros(1, 4, 8))
        for x, y in loader:
            out, state = net(x, state)
            one.zero_grad()
            (out - x).pow(2).mean().backward()
            one.step()
            state = tree_map(lambda part: part.detach(), state)  # right only
            state = tree_map(lambda part: part * 1, state)  # wrong only, GL702
        """,
    "what is taken out of a list again is not kept in it": """
        losses = []
        for x, y in loader:
            loss = criterion(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss)  # GL701
            print(losses.pop().item())  # right only
            print(losses[-1].item())  # wrong only
        """,
    "gradients may be given by their name": """
        for x, y in loader:
            optimizer.zero_grad()
            criterion(model(x), y).backward()
            signs = [p.grad.sign() for p in model.parameters()]
            optimizer.zero_grad()
            for p, sign in zip(model.parameters(), signs):
                setattr(p, "grad", sign)  # right only
                print(p, sign)  # wrong only
            optimizer.step()  # GL202
        """,
    "and two at a time": """
        for x, y in loader:
            optimizer.zero_grad()
            criterion(model(x), y).backward()
            signs = [p.grad.sign() for p in model.parameters()]
            optimizer.zero_grad()
            model.weight.grad, model.bias.grad = signs  # right only
            optimizer.step()  # GL202
        """,
}

FREEZING = {
    "a loop over all its parts": (
        "for part in critic.modules():\n    part.requires_grad_(True)",
        "for part in critic.modules():\n    part.requires_grad_(False)",
    ),
    "a function that is applied to them": ("critic.apply(thaw)", "critic.apply(freeze)"),
    "a map": (
        "list(map(lambda p: p.requires_grad_(True), critic.parameters()))",
        "list(map(lambda p: p.requires_grad_(False), critic.parameters()))",
    ),
    "parameters that a function gives": (
        "for p in all_of(critic):\n    p.requires_grad = True",
        "for p in all_of(critic):\n    p.requires_grad = False",
    ),
    "an attribute by its name": (
        "for p in critic.parameters():\n    setattr(p, 'requires_grad', True)",
        "for p in critic.parameters():\n    setattr(p, 'requires_grad', False)",
    ),
}

HELPERS = """
def thaw(part):
    for p in part.parameters(recurse=False):
        p.requires_grad = True

def freeze(part):
    for p in part.parameters(recurse=False):
        p.requires_grad = False

def all_of(net):
    return net.parameters()

"""


def adversarial(thawed: str, frozen: str) -> str:
    def inside(text: str) -> str:
        return "\n".join(f"    {line}" for line in text.split("\n"))

    return f"""{ONE_NET}{TWO_NETS}{HELPERS}
for noise, real in loader:
    made = author(noise)
{inside(thawed)}
    theirs.zero_grad()
    (critic(made.detach()) - critic(real)).mean().backward()
    theirs.step()
{inside(frozen)}
    ours.zero_grad()
    critic(made).mean().backward()
    ours.step()
"""


SILENT = {
    "optimizers that are stepped in a comprehension": """
        nets = [nn.Linear(8, 1) for _ in range(4)]
        spenders = [torch.optim.SGD(net.parameters(), 0.1) for net in nets]
        for x, y in loader:
            losses = [net(x).pow(2).mean() for net in nets]
            [spender.zero_grad() for spender in spenders]
            sum(losses).backward()
            [spender.step() for spender in spenders]
        """,
    "layers that have an optimizer each": """
        layers = [nn.Linear(8, 8), nn.Linear(8, 8)]
        spenders = [torch.optim.Adam(one.parameters()) for one in layers]
        for x, y in loader:
            for layer, spender in zip(layers, spenders):
                spender.zero_grad()
                layer(x).pow(2).mean().backward()
                spender.step()
        """,
    "a net that runs with other parameters than its own": f"""
{TWO_NETS}
for noise, real in loader:
    made = author(noise)
    theirs.zero_grad()
    (critic(made.detach()) - critic(real)).mean().backward()
    theirs.step()
    ours.zero_grad()
    others = {{name: p.detach() for name, p in critic.named_parameters()}}
    torch.func.functional_call(critic, others, (made,)).mean().backward()
    ours.step()
""",
}


@each(TWINS, after=ONE_NET)
def test_nothing_is_said_where_the_reason_stands(text: str) -> None:
    assert shown(check(correct(text))) == set()


@each({n: t for n, t in TWINS.items() if "# GL" in t or ", GL" in t}, after=ONE_NET)
def test_without_the_reason_the_fault_is_found(text: str) -> None:
    program, expected = faulty(text)
    assert finds(check(program), expected)


@each({how: adversarial(*ways) for how, ways in FREEZING.items()})
def test_a_net_that_is_frozen_by_whatever_means_gets_nothing(text: str) -> None:
    assert shown(check(text)) == set()


def test_a_net_that_nobody_freezes_gets_what_is_thrown_away() -> None:
    assert {rule for rule, _ in shown(check(adversarial("pass", "pass")))} == {"GL204"}


@each(SILENT, after=ONE_NET)
def test_nothing_is_said_of_what_is_right(text: str) -> None:
    checked = check(text)
    assert shown(checked) == set()
    assert checked.followed


def test_a_chain_of_comparisons_is_followed() -> None:
    program = f"""{ONE_NET}
from data import most

step = 0
for x, y in loader:
    criterion(model(x), y).backward()
    optimizer.step()
    step += 1
    if 0 < most < step:
        break
"""
    assert {rule for rule, _ in shown(check(program))} == {"GL101"}


@pytest.mark.parametrize("clear", ["optimizer.zero_grad()", "pass"])
def test_an_optimizer_may_be_made_right_where_it_is_given(clear: str) -> None:
    program = f"""{ONE_NET}
def fit(net, spender):
    for x, y in loader:
        {clear.replace("optimizer", "spender")}
        criterion(net(x), y).backward()
        spender.step()

fit(model, torch.optim.SGD(model.parameters(), lr=0.1))
"""
    found = {rule for rule, _ in shown(check(program))}
    assert found == ({"GL101"} if clear == "pass" else set())
