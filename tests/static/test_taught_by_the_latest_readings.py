"""Programs that are right by one line, and faults that were missed, from the tenth reading on.

docs/public-code.md tells of the readings.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from gradledger.static import checking
from tests.static.programs import (
    ONE_NET,
    check,
    check_file,
    correct,
    each,
    faulty,
    finds,
    shown,
)

OWN_CLASS = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 3)

    def forward(self, x):
        return self.layer(x)

"""

TWINS = {
    "another net in each round has no gradients yet": """
        for seed in range(3):
            torch.manual_seed(seed)
            net = Net()  # right only
            net = net if seed else Net()  # wrong only
            spender = torch.optim.SGD(net.parameters(), lr=0.1)
            criterion(net(dataset.x), dataset.y).backward()
            spender.step()  # GL101
        """,
    "what an exception broke off belongs to a net that is gone": """
        net = Net()  # wrong only
        spender = torch.optim.SGD(net.parameters(), lr=0.1)  # wrong only

        def fit(data):
            net = Net()  # right only
            spender = torch.optim.SGD(net.parameters(), lr=0.1)  # right only
            for x, y in data:
                criterion(net(x), y).backward()
                spender.step()  # GL902
                net.zero_grad()

        for seed in range(3):
            try:
                fit(loader)
            except ValueError as error:
                print(error)
        """,
    "what a function makes of numbers is a net if it is cleared like one": """
        def build(width):
            if width > 3:
                return Net()
            net = Net()
            return net

        def fit(width):
            net = build(width)
            optimizers = net.own_optimizers()
            net.zero_grad()
            for x, y in loader:
                criterion(net(x), y).backward()
                for one in optimizers:
                    one.step()  # GL101
                net.zero_grad()  # right only

        fit(4)
        """,
    "indices have no gradients, whoever gives them": """
        from data import part_of

        critic = nn.Linear(3, 1)
        judge = torch.optim.SGD(critic.parameters(), lr=0.1)
        for x, y in loader:
            critic.requires_grad_(True)
            made, ids = model(x)  # right only
            made, others = model(x)  # wrong only
            real = part_of(y, ids)  # right only
            real = part_of(y, others)  # wrong only
            judge.zero_grad()
            (critic(made.detach()) - critic(real)).mean().backward()
            judge.step()
            critic.requires_grad_(False)
            optimizer.zero_grad()  # GL204
            critic(made).mean().backward()
            optimizer.step()
        """,
    "a schedule begins after the warm-up": """
        from data import warm_up

        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=epochs)
        for epoch in range(epochs):
            if epoch < warm_up:  # right only
                optimizer.param_groups[0]["lr"] = 0.1 * (epoch + 1) / warm_up  # right only
            else:  # right only
                schedule.step()  # right only
            schedule.step()  # wrong only, GL503
            for x, y in loader:
                optimizer.zero_grad()
                criterion(model(x), y).backward()
                optimizer.step()
        """,
    "a schedule that is loaded was in use": """
        from data import saved

        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=epochs)
        schedule.load_state_dict(saved)  # right only
        schedule.step()  # GL503
        for epoch in range(epochs):
            for x, y in loader:
                optimizer.zero_grad()
                criterion(model(x), y).backward()
                optimizer.step()
            schedule.step()
        """,
    "what an option throws away is not always thrown away": """
        from data import unrolled

        alphas = torch.zeros(3, requires_grad=True)
        architect = torch.optim.Adam([alphas])
        for x, y in loader:
            architect.zero_grad()
            if unrolled:  # right only
                alphas.grad = torch.autograd.grad(criterion(x @ alphas, y), alphas)[0]  # right only
            else:  # right only
                criterion(model(x) * alphas, y).backward()  # right only
            criterion(model(x) * alphas, y).backward()  # wrong only
            architect.step()
            optimizer.zero_grad()  # GL204
            criterion(model(x), y).backward()
            optimizer.step()
        """,
    "who ends the program swallows no exception": """
        import sys

        for x, y in loader:
            loss = criterion(model(x), y)
            try:
                loss.backward()
                optimizer.step()  # GL902
                optimizer.zero_grad()
            except ValueError as error:
                print(error)
                sys.exit(1)  # right only
        """,
    "nor does who raises its end": """
        for x, y in loader:
            try:
                optimizer.zero_grad()
                criterion(model(x), y).backward()
            except ValueError as error:
                raise SystemExit(1)  # right only
                print(error)  # wrong only
            optimizer.step()  # GL902
        """,
    "what a model does to itself may fill its gradients": """
        from data import Traces, choice

        net = Traces()
        spenders = {"all": torch.optim.SGD(net.parameters(), lr=0.1)}

        def fit(by_hand):
            for x, y in loader:
                for spender in spenders.values():
                    spender.zero_grad()
                if by_hand:
                    net(x)
                    net.update()  # right only
                    net.describe()  # wrong only
                    for spender in spenders.values():
                        spender.step()  # GL202
                else:
                    criterion(net(x), y).backward()
                    for spender in spenders.values():
                        spender.step()

        fit(choice)
        """,
}

SILENT = {
    "optimizers that are made out of sight are others in each round": """
        from data import all_optimizers, some_net

        def fit(data):
            net = some_net()
            optimizers = all_optimizers(net)
            for x, y in data:
                criterion(net(x), y).backward()
                for one in optimizers:
                    one.step()
                net.zero_grad()

        for seed in range(3):
            try:
                fit(loader)
            except ValueError as error:
                print(error)
        """,
    "each of two nets gets its optimizer behind its backward": """
        for width in [3, 4]:
            net = nn.Linear(8, width)
            net(dataset.x).sum().backward()
            spender = torch.optim.SGD(net.parameters(), lr=0.1)
            spender.step()
        """,
    "each of two nets of one's own gets its optimizer behind its backward": """
        def test():
            for width in [3, 4]:
                net = Net()
                net(dataset.x).sum().backward()
                spender = torch.optim.SGD(net.parameters(), lr=0.1)
                spender.step()
        """,
}

FOUND = {
    "what a subclass overrides is called by the methods of its base": """
        class Base:
            def __init__(self, loader):
                self.loader = loader
                self.net = nn.Linear(8, 3)
                self.spender = torch.optim.SGD(self.net.parameters(), lr=0.1)

            def train_step(self, x, y):
                raise NotImplementedError

            def train(self):
                for x, y in self.loader:
                    self.train_step(x, y)

            def run(self):
                for epoch in range(epochs):
                    self.train()

        class Runner(Base):
            def train_step(self, x, y):
                criterion(self.net(x), y).backward()
                self.spender.step()  # GL101

        def main():
            runner = Runner(loader)
            runner.run()

        if __name__ == "__main__":
            main()
        """,
    "the first that a model of transformers gives is its loss": """
        from transformers import AutoModelForMaskedLM

        net = AutoModelForMaskedLM.from_pretrained("base")
        spender = torch.optim.AdamW(net.parameters())
        step = 0
        for epoch in range(epochs):
            for x in loader:
                step += 1
                net(x, labels=x)[0].backward()  # GL301
                if step % 4 == 0:
                    spender.step()
                    spender.zero_grad()
        """,
    "the first of two, by its name": """
        from transformers import AutoModelForMaskedLM

        net = AutoModelForMaskedLM.from_pretrained("base")
        spender = torch.optim.AdamW(net.parameters())
        step = 0
        for epoch in range(epochs):
            for x in loader:
                step += 1
                loss, logits = net(x, labels=x)
                loss.backward()  # GL301
                if step % 4 == 0:
                    spender.step()
                    spender.zero_grad()
        """,
    "a schedule of one's own is stepped as that of torch": """
        class WarmUp(torch.optim.lr_scheduler.LambdaLR):
            def __init__(self, optimizer, steps):
                self.steps = steps
                super().__init__(optimizer, self.factor)

            def factor(self, step):
                return min(1.0, step / self.steps)

        schedule = WarmUp(optimizer, 100)
        for x, y in loader:
            optimizer.zero_grad()
            criterion(model(x), y).backward()
            schedule.step()  # GL503
            optimizer.step()
        """,
    "no number leaves a rest when it is divided by one": """
        for i, (x, y) in enumerate(loader):
            if i % 1 == 1:
                optimizer.zero_grad()
            criterion(model(x), y).backward()
            optimizer.step()  # GL101
        """,
    "each fold of the data has a net of its own": """
        def fit(fold):
            net = nn.Linear(8, 3)
            spender = torch.optim.SGD(net.parameters(), lr=0.1)
            for epoch in range(epochs):
                for i, (x, y) in enumerate(loader):
                    net.zero_grad()  # GL201
                    criterion(net(x), y).backward()  # GL203
                    if (i + 1) % 5 == 0 or i == len(loader):
                        spender.step()

        fit(0)
        fit(1)
        fit(2)
        fit(3)
        fit(4)
        """,
    "to ask an optimizer for something changes nothing": """
        for epoch in range(epochs):
            for i, (x, y) in enumerate(loader):
                (criterion(model(x), y) / 4).backward()  # GL203
                if (i + 1) % 4 == 0:
                    optimizer.step()
                    optimizer.zero_grad()
                print(optimizer.get_average_rate())
        """,
}


@each(TWINS, after=ONE_NET + OWN_CLASS)
def test_nothing_is_said_where_the_reason_stands(text: str) -> None:
    assert shown(check(correct(text))) == set()


@each(TWINS, after=ONE_NET + OWN_CLASS)
def test_without_the_reason_the_fault_is_found(text: str) -> None:
    program, expected = faulty(text)
    assert finds(check(program), expected)


@each(SILENT, after=ONE_NET + OWN_CLASS)
def test_nothing_is_said_of_what_is_right(text: str) -> None:
    assert shown(check(text)) == set()


@each(FOUND, after=ONE_NET)
def test_what_was_missed_is_found(text: str) -> None:
    program, expected = faulty(text)
    assert finds(check(program), expected)


def test_a_meter_in_another_file_keeps_what_it_is_given(tmp_path: Path) -> None:
    (tmp_path / "meters.py").write_text("""
class AverageMeter:
    def __init__(self):
        self.sum = 0.0

    def update(self, value):
        self.sum += value
""")
    train = tmp_path / "train.py"
    train.write_text(f"""{ONE_NET}
from meters import AverageMeter

losses = AverageMeter()
for x, y in loader:
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    optimizer.step()
    losses.update(loss)
""")
    assert {rule for rule, _ in shown(check_file(train))} == {"GL701"}


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
    monkeypatch.setattr(checking, "MOST_OUTCOMES", 12)
    part = check(program)
    assert part.followed == 0
    assert [unknown.why for unknown in part.unknown] == [checking.IN_PART]


@pytest.mark.parametrize("size", [1, 4])
@pytest.mark.parametrize(
    ("wanted", "name"),
    [("from sizes import window", "window"), ("import sizes as s", "s.window")],
)
def test_a_file_that_is_imported_says_how_large_windows_are(
    tmp_path: Path, size: int, wanted: str, name: str
) -> None:
    (tmp_path / "sizes.py").write_text(f"window = {size}\n")
    train = tmp_path / "train.py"
    train.write_text(f"""{ONE_NET}
{wanted}

for epoch in range(epochs):
    for i, (x, y) in enumerate(loader):
        criterion(model(x), y).backward()
        if (i + 1) % {name} == 0:
            optimizer.step()
            optimizer.zero_grad()
""")
    found = {rule for rule, _ in shown(check_file(train))}
    assert ("GL203" in found) is (size > 1)


def test_a_second_call_counts_where_it_goes_on_with_what_is_there() -> None:
    program = f"""{ONE_NET}
def fit(epoch):
    criterion(model(dataset.x), dataset.y).backward()
    optimizer.step()

fit(1)
fit(2)
"""
    assert {rule for rule, _ in shown(check(program))} == {"GL101"}


def test_a_second_call_counts_where_the_first_one_gives_what_it_made() -> None:
    program = f"""{ONE_NET}
def fit(epoch):
    net = nn.Linear(8, 3)
    spender = torch.optim.SGD(net.parameters(), lr=0.1)
    criterion(net(dataset.x), dataset.y).backward()
    spender.step()
    return net, spender

fit(1)
net, spender = fit(2)
criterion(net(dataset.x), dataset.y).backward()
spender.step()
"""
    assert {rule for rule, _ in shown(check(program))} == {"GL101"}


def test_a_second_call_counts_where_another_function_made_the_optimizer() -> None:
    program = f"""{ONE_NET}
def make():
    net = nn.Linear(8, 3)
    return net, torch.optim.SGD(net.parameters(), lr=0.1)

net, spender = make()

def fit(epoch):
    criterion(net(dataset.x), dataset.y).backward()
    spender.step()

fit(1)
fit(2)
"""
    assert {rule for rule, _ in shown(check(program))} == {"GL101"}


def test_calls_in_a_loop_are_followed_in_all_its_rounds() -> None:
    program = f"""{ONE_NET}
def fit(fold):
    net = nn.Linear(8, 3)
    spender = torch.optim.SGD(net.parameters(), lr=0.1)
    for x, y in loader:
        criterion(net(x), y).backward()
        spender.step()
    return 1.0

best = 0.0
for fold in range(5):
    best = max(best, fit(fold))
    total = best + 1
"""
    assert {rule for rule, _ in shown(check(program))} == {"GL101"}
