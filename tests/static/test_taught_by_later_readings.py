"""Programs that are right by one line, from the eighth reading of public code on.

What the line is for was not seen once; docs/public-code.md tells of the readings.
"""

from __future__ import annotations

from pathlib import Path

import pytest

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

WINDOWS = {
    "windows of one micro-batch are always full": """
        from options import window

        for epoch in range(epochs):
            for i, (x, y) in enumerate(loader):
                first = i % window == 0 if window > 1 else True  # right only
                first = True  # wrong only
                last = (i + 1) % window == 0 or i + 1 == len(loader) if window > 1 else True
                if first:
                    optimizer.zero_grad()  # GL201
                (criterion(model(x), y) / window).backward()
                if last:
                    optimizer.step()
        """,
    "rounds that were done before are as if they were not there": """
        from options import start

        for epoch in range(epochs):
            optimizer.zero_grad()
            for i, (x, y) in enumerate(loader):
                if epoch == 0 and i < start:
                    continue
                (criterion(model(x), y) / 4).backward()  # GL203
                if (i + 1) % 4 == 0 or i + 1 == len(loader):  # right only
                    optimizer.step()  # right only
                    optimizer.zero_grad()  # right only
                if (i + 1) % 4 == 0:  # wrong only
                    optimizer.step()  # wrong only
                    optimizer.zero_grad()  # wrong only
        """,
    "a step that a function makes is meant to be made": """
        class Trainer:
            def __init__(self):
                self.model = nn.Linear(8, 3)
                self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)

            def spend(self):
                self.optimizer.step()
                self.optimizer.zero_grad()

            def fit(self, window):
                for epoch in range(epochs):
                    self.optimizer.zero_grad()
                    for i, (x, y) in enumerate(loader):
                        (criterion(self.model(x), y) / window).backward()  # GL203
                        if (i + 1) % window == 0:
                            self.spend()
                    if len(loader) % window != 0:  # right only
                        self.spend()  # right only

        Trainer().fit(4)
        """,
    "who counts on asks for the first micro-batch and for the last": """
        count = 0
        for epoch in range(epochs):
            for x, y in loader:
                if count % 4 == 0:  # right only
                    optimizer.zero_grad()  # right only
                (criterion(model(x), y) / 4).backward()
                if (count + 1) % 4 == 0:
                    optimizer.step()  # GL101
                count += 1
        """,
    "a loop that somebody has had enough of is not ended by its data": """
        from options import most

        steps = 0
        for i, (x, y) in enumerate(loader):
            (criterion(model(x), y) / 4).backward()  # GL203
            if (i + 1) % 4 == 0:
                optimizer.step()
                optimizer.zero_grad()
                steps += 1
                if steps >= most:  # right only
                    break  # right only
        """,
    "no window is begun that has no end": """
        for epoch in range(epochs):
            optimizer.zero_grad()
            for i, (x, y) in enumerate(loader):
                (criterion(model(x), y) / 4).backward()  # GL203
                if (i + 1) % 4 == 0:
                    optimizer.step()
                    optimizer.zero_grad()
                    if i + 1 > len(loader) - 4:  # right only
                        break  # right only
        """,
    "an object that is gone through for ever does not end": """
        class Batches:
            def __init__(self, data):
                self.data = data

            def __iter__(self):
                while True:  # right only
                    yield from self.data  # right only
                yield from self.data  # wrong only

        batches = Batches(loader)
        for epoch in range(epochs):
            optimizer.zero_grad()
            for i, (x, y) in enumerate(batches):
                (criterion(model(x), y) / 4).backward()  # GL203
                if (i + 1) % 4 == 0:
                    optimizer.step()
                    optimizer.zero_grad()
        """,
    "an enumerate that was handed in goes on where it was left": """
        def some(pairs, window):
            for i, (x, y) in pairs:
                (criterion(model(x), y) / window).backward()  # GL203
                if (i + 1) % window == 0:
                    optimizer.step()
                    optimizer.zero_grad()
                    if enough():
                        break

        def fit(window):
            pairs = enumerate(loader)  # right only
            while not enough():
                pairs = enumerate(loader)  # wrong only
                some(pairs, window)
        """,
    "a loop that fails in time is never seen to its end": """
        for epoch in range(epochs):
            for i, (x, y) in enumerate(loader):
                (criterion(model(x), y) / 4).backward()  # GL203
                if i == 5:  # right only
                    raise ValueError("look here")  # right only
                if (i + 1) % 4 == 0:
                    optimizer.step()
                    optimizer.zero_grad()
        """,
    "the file sets a window to one": """
        class Options:
            window = 1  # right only
            window = 4  # wrong only

        def fit(net, one, data, options):
            for epoch in range(epochs):
                for i, (x, y) in enumerate(data):
                    (criterion(net(x), y) / options.window).backward()  # GL203
                    if (i + 1) % options.window == 0:
                        one.step()
                        one.zero_grad()
        """,
}

GRAPHS = {
    "of a dict of numbers only a loss surely has a graph": """
        right = 0
        for x, y in loader:
            optimizer.zero_grad()
            out = model(x)
            out = {"loss": criterion(out, y), "right": out.sum()}
            out["loss"].backward()
            optimizer.step()
            right += out["right"]  # right only
            right += out["loss"]  # wrong only, GL701
        """,
    "where the largest stands has no graph": """
        token = torch.zeros(8)
        for x, y in loader:
            out = model(token)
            _, token = out.topk(1)  # right only
            token = out * 2  # wrong only, GL702
            optimizer.zero_grad()
            criterion(out, y).backward()
            optimizer.step()
        """,
    "what torch counts has no graph": """
        total = 0
        for x, y in loader:
            optimizer.zero_grad()
            out = model(x)
            loss = criterion(out, y)
            loss.backward()
            optimizer.step()
            total += torch.argmax(out)  # right only
            total += loss  # wrong only, GL701
        """,
    "a state that is made anew has no graph but its own": """
        features = torch.zeros(16, 3, requires_grad=True)
        for k in range(100):
            optimizer.zero_grad()
            criterion(features, dataset.y).backward()
            optimizer.step()
            features = model(dataset.x)  # right only
            features = model(features)  # wrong only, GL702
        """,
    "the norm of weights has no graph": """
        def size(weights):
            total = 0
            for weight in weights:
                total += weight.data.norm() ** 2  # right only
                total += weight.norm() ** 2  # wrong only
            return total

        sizes = 0
        for x, y in loader:
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()
            sizes += size(list(filter(lambda w: w.requires_grad, model.parameters())))
            sizes += loss  # wrong only, GL701
        """,
    "what is put into a batch is one of many": """
        author, critic = nn.Linear(8, 8), nn.Bilinear(8, 8, 1)
        ours = torch.optim.Adam(author.parameters())
        theirs = torch.optim.Adam(critic.parameters())
        for batch in loader:
            batch.append(author(batch[0]))
            theirs.zero_grad()
            one, other = batch[0], batch[2].detach()  # right only
            one = other = author(batch[0])  # wrong only
            critic(one, other).mean().backward()
            theirs.step()
            critic.requires_grad_(False)
            ours.zero_grad()  # GL204
            critic(batch[0], author(batch[0])).mean().backward()
            ours.step()
            critic.requires_grad_(True)
        """,
}

OWNERS = {
    "an option enables the scaler and unscales": """
        from options import amp

        scaler = torch.amp.GradScaler("cuda", enabled=amp)
        for x, y in loader:
            optimizer.zero_grad()
            scaler.scale(criterion(model(x), y)).backward()
            if amp:  # right only
                scaler.unscale_(optimizer)  # right only
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)  # GL401
            scaler.step(optimizer)
            scaler.update()
        """,
    "a manager of the project's own freezes": """
        class frozen:
            def __init__(self, net):
                self.net = net

            def __enter__(self):
                self.net.requires_grad_(False)

            def __exit__(self, *why):
                self.net.requires_grad_(True)

        author, critic = nn.Linear(8, 8), nn.Linear(8, 1)
        ours = torch.optim.Adam(author.parameters())
        theirs = torch.optim.Adam(critic.parameters())
        for noise, real in loader:
            theirs.zero_grad()  # GL204
            (critic(author(noise).detach()).mean() - critic(real).mean()).backward()
            theirs.step()
            ours.zero_grad()
            with frozen(critic):  # right only
                critic(author(noise)).mean().backward()  # right only
            critic(author(noise)).mean().backward()  # wrong only
            ours.step()
        """,
    "a generator of the project's own freezes": """
        from contextlib import contextmanager

        @contextmanager
        def frozen(net):
            net.requires_grad_(False)
            try:
                yield net
            finally:
                net.requires_grad_(True)

        author, critic = nn.Linear(8, 8), nn.Linear(8, 1)
        ours = torch.optim.Adam(author.parameters())
        theirs = torch.optim.Adam(critic.parameters())
        for noise, real in loader:
            theirs.zero_grad()  # GL204
            (critic(author(noise).detach()).mean() - critic(real).mean()).backward()
            theirs.step()
            ours.zero_grad()
            with frozen(critic):  # right only
                critic(author(noise)).mean().backward()  # right only
            critic(author(noise)).mean().backward()  # wrong only
            ours.step()
        """,
    "what one call reaches, another need not": """
        from elsewhere import objective

        def turn(net, other, one, x):
            one.zero_grad()  # GL204
            net(other(x)).mean().backward()  # wrong only
            objective(net, other).backward()  # right only
            one.step()

        left, right = nn.Linear(8, 8), nn.Linear(8, 8)
        ours, theirs = torch.optim.Adam(left.parameters()), torch.optim.Adam(right.parameters())
        for x, y in loader:
            turn(left, right, ours, x)
            turn(right, left, theirs, x)
        """,
    "a gradient of something out of sight may be the model's": """
        def fit(net, one, data, layer):
            for x, y in data:
                one.zero_grad()
                criterion(net(x), y).backward()
                before = layer.weight.grad.clone()  # right only
                before = layer.weight.clone()  # wrong only
                one.zero_grad()  # GL201
                (criterion(net(x), y) + before.sum()).backward()
                one.step()
        """,
    "an optimizer of another kind looks at what it finds": """
        from sam import SAM

        def fit(options):
            one = torch.optim.SGD(model.parameters(), lr=0.1)
            if options.sharp:  # right only
                one = SAM(one)  # right only
            for x, y in loader:

                def closure():
                    one.zero_grad()  # GL201
                    loss = criterion(model(x), y)
                    loss.backward()
                    return loss

                criterion(model(x), y).backward()
                if options.sharp:  # right only
                    one.step(closure)  # right only
                else:  # right only
                    one.step()  # right only
                one.step(closure)  # wrong only
                one.zero_grad()
        """,
    "who leaves behind a guard has seen that this batch is bad": """
        for epoch in range(epochs):
            for x, y in loader:
                optimizer.zero_grad()
                loss = criterion(model(x), y)
                loss.backward()
                if loss.item() > 100:  # right only
                    continue  # right only
                optimizer.zero_grad()  # wrong only, GL201
                optimizer.step()
        """,
    "what some rounds leave unspent is not certain to be there": """
        for epoch in range(epochs):
            for x, y in loader:
                optimizer.zero_grad()
                criterion(model(x), y).backward()
                total = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                if total > 1000:  # right only
                    continue  # right only
                optimizer.zero_grad()  # wrong only, GL201
                optimizer.step()
        """,
    "only those that have a gradient are looked at": """
        def size(weights):
            weights = list(filter(lambda w: w.grad is not None, weights))  # right only
            return sum([w.grad.norm() for w in weights])  # GL606

        for x, y in loader:
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            print(size(model.parameters()))
            loss.backward()
            optimizer.step()
        """,
    "how an Accelerator divides may be said elsewhere": """
        from accelerate import Accelerator

        def fit(net, one, data, accum_steps, **options):
            accelerator = Accelerator(**options)  # right only
            accelerator = Accelerator(gradient_accumulation_steps=accum_steps)  # wrong only
            net, one, data = accelerator.prepare(net, one, data)
            for x, y in data:
                with accelerator.accumulate(net):  # wrong only
                    accelerator.backward(criterion(net(x), y) / accum_steps)  # wrong only, GL303
                    one.step()  # wrong only
                    one.zero_grad()  # wrong only
                accelerator.backward(criterion(net(x), y) / accum_steps)  # right only
                one.step()  # right only
                one.zero_grad()  # right only
        """,
}

TWINS = WINDOWS | GRAPHS | OWNERS

SILENT = {
    "a scheduler from a package of optimizers is none": """
        from lib.optim import LRScheduler

        later = LRScheduler(optimizer, 100)
        for x, y in loader:
            criterion(model(x), y).backward()
            optimizer.step()
            optimizer.zero_grad()
            later.step()
        """,
    "a step with a closure may be another optimizer's": """
        from options import kind
        from searches import LineSearch

        def fit(one=None):
            if kind == "plain":
                one = torch.optim.SGD(model.parameters(), lr=0.1)
            for x, y in loader:
                model.zero_grad()
                if kind == "search":
                    one.step(lambda: criterion(model(x), y))
                else:
                    criterion(model(x), y).backward()
                    one.step()
        """,
    "a scheduler by that name alone is no optimizer either": """
        from lib.optim import Scheduler

        later = Scheduler(optimizer, 100)
        for x, y in loader:
            criterion(model(x), y).backward()
            optimizer.step()
            optimizer.zero_grad()
            later.step()
        """,
    "an optimizer that a function made for itself is gone": """
        import models

        def fit(net, data):
            one = torch.optim.SGD(net.parameters(), lr=0.1)
            for x, y in data:
                one.zero_grad()
                criterion(net(x), y).backward()
                one.step()

        def main():
            net = models.resnet()
            fit(net, loader)
            net.head = nn.Linear(8, 3)
            fit(net, loader)
        """,
    "numbers that go along with the data may cut it to whole windows": """
        usable = len(loader) - len(loader) % 4
        for epoch in range(epochs):
            for i, (x, y) in zip(range(usable), loader):
                (criterion(model(x), y) / 4).backward()
                if i % 4 == 3:
                    optimizer.step()
                    optimizer.zero_grad()
        """,
    "where there was no layer, none is replaced": """
        import models

        def main(data):
            net = models.alexnet()
            net.head = None
            one = torch.optim.SGD(net.parameters(), lr=0.1)
            net.head = nn.Linear(8, 3)
            for x, y in data:
                one.zero_grad()
                criterion(net(x), y).backward()
                one.step()
        """,
    "a function inside of a function spends what is left": """
        def fit(net, one, window):
            def update():
                one.step()
                one.zero_grad()

            for epoch in range(epochs):
                pending = 0
                for x, y in loader:
                    (criterion(net(x), y) / window).backward()
                    pending += 1
                    if pending == window:
                        update()
                        pending = 0
                if pending:
                    update()
        """,
    "of several results of a module, each is made of some of what it was given": """
        class Means(nn.Module):
            def forward(self, first, second):
                return first.mean(), second.mean()

        left, right, means = nn.Linear(8, 3), nn.Linear(8, 3), Means()
        ours, theirs = torch.optim.Adam(left.parameters()), torch.optim.Adam(right.parameters())
        for x, y in loader:
            one, other = means(left(x), right(x))
            ours.zero_grad()
            one.backward()
            ours.step()
            theirs.zero_grad()
            other.backward()
            theirs.step()
        """,
}
"""Right, and without a twin."""

FOUND = {
    "a scaler that is handed in, and its step by a keyword": """
        class Trainer:
            def __init__(self, net, one, scaler, window):
                self.net, self.one, self.scaler, self.window = net, one, scaler, window

            def epoch(self, data):
                for i, (x, y) in enumerate(data):
                    loss = criterion(self.net(x), y) / self.window
                    self.scaler.scale(loss).backward()  # GL203
                    if (i + 1) % self.window == 0:
                        self.scaler.unscale_(self.one)
                        self.scaler.step(optimizer=self.one)
                        self.scaler.update()
                        self.one.zero_grad()

            def fit(self, data):
                for _ in range(epochs):
                    self.epoch(data)
        """,
    "the norm of scaled gradients, by hand": """
        scaler = torch.amp.GradScaler("cuda")
        for x, y in loader:
            optimizer.zero_grad()
            scaler.scale(criterion(model(x), y)).backward()
            print(sum([w.grad.norm() for w in model.parameters()]))  # GL401
            scaler.step(optimizer)
            scaler.update()
        """,
    "numbers that go along with the data count it": """
        for epoch in range(epochs):
            for i, (x, y) in zip(range(len(loader)), loader):
                (criterion(model(x), y) / 4).backward()  # GL203
                if (i + 1) % 4 == 0:
                    optimizer.step()
                    optimizer.zero_grad()
        """,
    "a function that a method makes and returns is called for each batch": """
        class Agent:
            def build(self, net):
                one = torch.optim.Adam(net.parameters())

                def train(x, y):
                    criterion(net(x), y).backward()
                    one.step()  # GL101

                return train
        """,
}
"""What was missed once."""


@each(TWINS, after=ONE_NET)
def test_nothing_is_said_where_the_reason_stands(text: str) -> None:
    assert shown(check(correct(text))) == set()


@each(TWINS, after=ONE_NET)
def test_without_the_reason_the_fault_is_found(text: str) -> None:
    program, expected = faulty(text)
    assert finds(check(program), expected)


@each(SILENT, after=ONE_NET)
def test_nothing_is_said_of_what_is_right(text: str) -> None:
    assert shown(check(text)) == set()


@each(FOUND, after=ONE_NET)
def test_what_was_missed_is_found(text: str) -> None:
    program, expected = faulty(text)
    assert finds(check(program), expected)


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


@pytest.mark.parametrize("imported", [True, False])
@pytest.mark.parametrize("window", [1, 4])
def test_a_file_beside_says_how_large_windows_are(
    tmp_path: Path, window: int, imported: bool
) -> None:
    (tmp_path / "config.py").write_text(f'CONFIG = {{"window": {window}}}\nseed = 3\n')
    engine = tmp_path / "engine.py"
    first = "from config import seed\n\ntorch.manual_seed(seed)" if imported else ""
    engine.write_text(f"""
import torch
{first}

def fit(net, one, data, epochs, config):
    for epoch in range(epochs):
        for i, (x, y) in enumerate(data):
            (net(x, y).mean() / config["window"]).backward()
            if (i + 1) % config["window"] == 0:
                one.step()
                one.zero_grad()
""")
    found = {rule for rule, _ in shown(check_file(engine))}
    assert found == (set() if window == 1 else {"GL203"})
