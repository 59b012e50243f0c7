"""What a finding needs to be certain, besides a law that is broken on every path."""

from __future__ import annotations

from tests.static.programs import ONE_NET, check, each, everything, faulty, shown

SURE = {
    "nothing in the step's own loop clears": """
        def fit(net, one, data):
            one.zero_grad()
            for x, y in data:
                criterion(net(x), y).backward()
                one.step()  # GL101
        """,
    "what clears is another optimizer's, and all are in sight": """
        critic = nn.Linear(8, 1)
        theirs = torch.optim.SGD(critic.parameters(), lr=0.1)
        for x, y in loader:
            theirs.zero_grad()
            critic(x).mean().backward()
            theirs.step()
            criterion(model(x), y).backward()
            optimizer.step()  # GL101
        """,
    "what clears is in the other arm of an option": """
        def fit(net, one, data, scaler, half):
            for x, y in data:
                loss = criterion(net(x), y)
                if half:
                    scaler.scale(loss).backward()
                    scaler.step(one)  # GL101
                    scaler.update()
                else:
                    one.zero_grad()
                    loss.backward()
                    one.step()
        """,
    "a window is closed by a counter": """
        def fit(net, one, data, n):
            for i, (x, y) in enumerate(data):
                one.zero_grad()  # GL201
                (criterion(net(x), y) / n).backward()
                if (i + 1) % n == 0 or i + 1 == len(data):
                    one.step()
        """,
    "the clear stands between the backward and the step": """
        def fit(net, one, data):
            for x, y in data:
                criterion(net(x), y).backward()
                one.zero_grad()  # GL201
                one.step()
        """,
    "two steps stand in a row": """
        def fit(net, one, data):
            for x, y in data:
                one.zero_grad()
                criterion(net(x), y).backward()
                one.step()
                one.step()  # GL101
        """,
    "of two losses, each has a step": """
        def fit(net, one, data):
            for x, y in data:
                one.zero_grad()
                criterion(net(x), y).backward()
                one.step()
                net(x).pow(2).mean().backward()
                one.step()  # GL101
        """,
    "a schedule moves before the step of every window": """
        def fit(data, n):
            net = nn.Linear(8, 3)
            one = torch.optim.SGD(net.parameters(), lr=0.1)
            schedule = torch.optim.lr_scheduler.StepLR(one, 10)
            for i, (x, y) in enumerate(data):
                (criterion(net(x), y) / n).backward()
                if (i + 1) % n == 0:
                    schedule.step()  # GL503
                    one.step()
                    one.zero_grad()
        """,
}
DOUBTED = {
    "a second step that only some ways lead to": """
        def fit(net, one, data):
            for x, y in data:
                one.zero_grad()
                criterion(net(x), y).backward()
                if x.mean() > 0:
                    one.step()
                one.step()  # GL101
        """,
    "a clear between two losses may be meant for these": """
        critic = nn.Linear(8, 1)
        theirs = torch.optim.SGD(critic.parameters(), lr=0.1)
        for x, y in loader:
            optimizer.zero_grad()
            criterion(model(x), y).backward()
            optimizer.step()
            theirs.zero_grad()
            (model(x).pow(2).mean() + critic(x).mean()).backward()
            optimizer.step()  # GL101
            theirs.step()
        """,
    "what clears is in the other arm of a condition that changes": """
        def fit(net, one, data):
            for i, (x, y) in enumerate(data):
                loss = criterion(net(x), y)
                if i > 100:
                    loss.backward()
                    one.step()  # GL101
                else:
                    one.zero_grad()
                    loss.backward()
                    one.step()
        """,
    "of two optimizers over one net, the other may have cleared": """
        other = torch.optim.Adam(model.parameters())
        for epoch in range(epochs):
            for x, y in loader:
                if epoch > 5:
                    other.zero_grad()
                criterion(model(x), y).backward()
                optimizer.step()  # GL101
        """,
    "of two optimizers over one net, the other may have spent": """
        other = torch.optim.Adam(model.parameters())
        for x, y in loader:
            other.zero_grad()
            criterion(model(x), y).backward()
            other.step()
        for k, (x, y) in enumerate(loader):
            optimizer.zero_grad()  # GL201
            criterion(model(x), y).backward()
            if k == 0:
                print("no step")
            else:
                optimizer.step()
        """,
    "where two optimizers step, whose window it is that is reduced is in doubt": """
        net, critic = nn.parallel.DistributedDataParallel(nn.Linear(8, 3)), nn.Linear(8, 3)
        one = torch.optim.SGD(net.parameters(), lr=0.1)
        theirs = torch.optim.SGD(critic.parameters(), lr=0.1)
        for i, (x, y) in enumerate(loader):
            (criterion(net(x), y) / 4).backward()  # GL802
            theirs.zero_grad()
            critic(x).mean().backward()
            theirs.step()
            if (i + 1) % 4 == 0:
                one.step()
                one.zero_grad()
        """,
    "who was given its optimizer may spend in a way that is not seen": """
        def fit(net, one, data, warm):
            for k, (x, y) in enumerate(data):
                one.zero_grad()  # GL201
                criterion(net(x), y).backward()
                if k == 0:
                    print("no step")
                else:
                    one.step()
        """,
}

WINDOWS = """
critic = nn.Linear(8, 3)
theirs = torch.optim.SGD(critic.parameters(), lr=0.1)
for i, (x, y) in enumerate(loader):
    (criterion(model(x), y) / 4).backward()  # GL203
    if (i + 1) % 4 == 0:
        optimizer.step()
        optimizer.zero_grad()
"""
SECOND = """\
    theirs.zero_grad()
    critic(x).mean().backward()
    theirs.step()
"""


@each(SURE, after=ONE_NET)
def test_with_its_grounds_a_finding_is_shown(text: str) -> None:
    program, expected = faulty(text)
    assert expected <= shown(check(program))


@each(DOUBTED, after=ONE_NET)
def test_without_them_it_is_possible_and_shown_on_request(text: str) -> None:
    program, expected = faulty(text)
    checked = check(program)
    assert expected <= everything(checked)
    assert not expected & shown(checked)


def test_what_a_window_leaves_over_is_told_where_one_optimizer_steps_in_its_loop() -> None:
    program, expected = faulty(ONE_NET + WINDOWS)
    apart = check(f"{program}\nfor x, _ in loader:\n{SECOND}")
    together = check(f"{program}\n{SECOND}")
    assert expected <= shown(apart)
    assert "GL203" not in {rule for rule, _ in everything(together)}


def test_who_tries_how_large_a_batch_may_be_trains_nothing() -> None:
    tried = """
import torch

model = torch.nn.Linear(8, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
size = 64
while size < 1024:
    model(torch.randn(size, 8)).mean().backward()
    optimizer.zero_grad()
    size *= 2
"""
    assert shown(check(tried)) == set()
    trained = tried.replace("while size < 1024", "for epoch in range(9)").replace("*= 2", "+= 0")
    assert shown(check(trained)) == {("GL201", 9)}


def test_a_second_loss_of_both_nets_on_top_of_a_joint_one_may_be_meant() -> None:
    joint = """
import torch
from torch import nn

left, right = nn.Linear(8, 3), nn.Linear(3, 8)
ours, theirs = torch.optim.Adam(left.parameters()), torch.optim.Adam(right.parameters())
for x, y in loader:
    ours.zero_grad()
    theirs.zero_grad()
    (right(left(x)) - x).abs().mean().backward()
    ours.step()
    (left(right(y)) - y).abs().mean().backward()
    theirs.step()
"""
    assert "GL102" not in {rule for rule, _ in shown(check(joint))}
    leak = joint.replace("(left(right(y)) - y)", "right(y)")
    assert ("GL102", 13) in shown(check(leak))


def test_with_several_optimizers_what_is_dropped_is_certain_only_of_nets_made_in_sight() -> None:
    dropped = """
import torch
from torch import nn

left, right = nn.Linear(8, 3), nn.Linear(8, 3)
ours, theirs = torch.optim.Adam(left.parameters()), torch.optim.Adam(right.parameters())
for x, y in loader:
    left(x).mean().backward()
    ours.zero_grad()
    theirs.zero_grad()
    ours.step()
    right(x).mean().backward()
    theirs.step()
"""
    assert ("GL201", 9) in shown(check(dropped))
    others = dropped.replace("nn.Linear(8, 3), nn.Linear(8, 3)", "made(1), made(2)")
    assert ("GL201", 9) in everything(check(others))
    assert ("GL201", 9) not in shown(check(others))
    lines = others.splitlines(keepends=True)
    lines[9], lines[10] = lines[10], lines[9]  # whatever else there is, this step finds nothing
    assert ("GL201", 9) in shown(check("".join(lines)))


def test_a_window_that_may_be_left_over_is_likely() -> None:
    program, expected = faulty(ONE_NET + WINDOWS)
    sure = {(f.rule, f.at.line): f.certainty for f in check(program).findings}
    assert {sure[fault] for fault in expected} == {"likely"}
