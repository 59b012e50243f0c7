"""Loops, branches and exits: what happens on every path, and on no other."""

from __future__ import annotations

from tests.static.programs import ONE_NET, check, correct, each, faulty, finds, shown

LOOPS = {
    "a plain loop clears in every round": """
        for x, y in loader:
            optimizer.zero_grad()  # right only
            criterion(model(x), y).backward()
            optimizer.step()  # GL101
        """,
    "a clear before the loop is not one in each round": """
        optimizer.zero_grad()  # wrong only
        for x, y in loader:
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()  # GL101
            optimizer.zero_grad()  # right only
        """,
    "in nested loops the inner one must clear": """
        for epoch in range(epochs):
            optimizer.zero_grad()  # wrong only
            for x, y in loader:
                optimizer.zero_grad()  # right only
                criterion(model(x), y).backward()
                optimizer.step()  # GL101
        """,
    "a while loop goes round as a for loop does": """
        batches = iter(loader)
        rounds = 0
        while rounds < 1000:
            x, y = next(batches)
            optimizer.zero_grad()  # right only
            criterion(model(x), y).backward()
            optimizer.step()  # GL101
            rounds += 1
        """,
    "while True ends somewhere inside": """
        batches = iter(loader)
        while True:
            batch = next(batches, None)
            if batch is None:
                break
            x, y = batch
            criterion(model(x), y).backward()
            optimizer.step()  # GL101
            optimizer.zero_grad()  # right only
        """,
    "enumerate counts, and changes nothing": """
        for i, (x, y) in enumerate(loader):
            optimizer.zero_grad()  # right only
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()  # GL101
            if i % 100 == 0:
                print(i, loss.item())
        """,
    "zip walks two loaders at once": """
        others = DataLoader(dataset, batch_size=4)
        for (x, y), (u, v) in zip(loader, others):
            optimizer.zero_grad()  # right only
            loss = criterion(model(x), y) + criterion(model(u), v)
            loss.backward()
            optimizer.step()  # GL101
        """,
    "a generator of batches only hands them over": """
        def moved(batches):
            for x, y in batches:
                yield x.to(device), y.to(device)

        for x, y in moved(loader):
            optimizer.zero_grad()  # right only
            criterion(model(x), y).backward()
            optimizer.step()  # GL101
        """,
    "a generator expression hands batches over too": """
        for x, y in ((x.to(device), y.to(device)) for x, y in loader):
            optimizer.zero_grad()  # right only
            criterion(model(x), y).backward()
            optimizer.step()  # GL101
        """,
    "a loop over range(len(data)) is one over the data": """
        for i in range(len(dataset)):
            x, y = dataset[i]
            optimizer.zero_grad()  # right only
            criterion(model(x), y).backward()
            optimizer.step()  # GL101
        """,
    "the else of a loop comes after its last round": """
        for x, y in loader:
            optimizer.zero_grad()
            criterion(model(x), y).backward()
            optimizer.step()
        else:
            optimizer.step()  # wrong only, GL101
            print("done")
        """,
    "two losses in one round make one window": """
        for x, y in loader:
            optimizer.zero_grad()  # right only
            criterion(model(x), y).backward()
            model(x).pow(2).mean().backward()
            optimizer.step()  # GL101
        """,
    "what is cleared must have been spent": """
        for x, y in loader:
            optimizer.zero_grad()  # right only
            criterion(model(x), y).backward()
            optimizer.zero_grad()  # wrong only, GL201
            optimizer.step()
        """,
    "a second step in the same round spends again": """
        for x, y in loader:
            optimizer.zero_grad()
            criterion(model(x), y).backward()
            optimizer.step()
            optimizer.step()  # wrong only, GL101
        """,
}

BRANCHES = {
    "both sides of a branch clear": """
        from data import fancy

        for x, y in loader:
            if fancy:
                optimizer.zero_grad()
                criterion(model(x), y).backward()
                optimizer.step()
            else:
                optimizer.zero_grad()  # right only
                F.mse_loss(model(x), y).backward()
                optimizer.step()  # GL101
        """,
    "a condition asked twice has one answer": """
        from data import late

        for x, y in loader:
            if late:
                F.mse_loss(model(x), y).backward()
            else:
                optimizer.zero_grad()
                criterion(model(x), y).backward()
            optimizer.step()  # GL101
            if late:
                print("late")
                optimizer.zero_grad()  # right only
        """,
    "an elif is another side": """
        from data import kind

        for x, y in loader:
            optimizer.zero_grad()
            if kind == "mse":
                loss = F.mse_loss(model(x), y)
            elif kind == "l1":
                loss = F.l1_loss(model(x), y)
            else:
                loss = criterion(model(x), y)
            loss.backward()
            optimizer.zero_grad()  # wrong only, GL201
            optimizer.step()
        """,
    "code behind a training phase is followed": """
        for phase in ["train", "val"]:
            model.train(phase == "train")
            for x, y in loader:
                optimizer.zero_grad()  # right only
                with torch.set_grad_enabled(phase == "train"):
                    loss = criterion(model(x), y)
                    if phase == "train":
                        loss.backward()
                        optimizer.step()  # GL101
        """,
    "a conditional expression chooses a loss and nothing else": """
        from data import regress

        for x, y in loader:
            optimizer.zero_grad()  # right only
            loss = F.mse_loss(model(x), y) if regress else criterion(model(x), y)
            loss.backward()
            optimizer.step()  # GL101
        """,
    "match is a branch with many sides": """
        from data import kind

        for x, y in loader:
            optimizer.zero_grad()  # right only
            match kind:
                case "mse":
                    loss = F.mse_loss(model(x), y)
                case _:
                    loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()  # GL101
        """,
}

EXITS = {
    "continue before the backward leaves nothing behind": """
        for x, y in loader:
            if len(x) < 16:
                continue
            optimizer.zero_grad()  # right only
            criterion(model(x), y).backward()
            optimizer.step()  # GL101
        """,
    "continue after the clear does no harm": """
        for i, (x, y) in enumerate(loader):
            optimizer.zero_grad()  # right only
            criterion(model(x), y).backward()
            optimizer.step()  # GL101
            if i % 10 != 0:
                continue
            print(i)
        """,
    "break ends the loop, and what follows sees its last round": """
        for x, y in loader:
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()
            if loss.item() < 0.01:
                break
        optimizer.step()  # wrong only, GL101
        """,
    "an early return in a step leaves the rest out": """
        def train_step(x, y):
            loss = criterion(model(x), y)
            if torch.isnan(loss):
                return None
            optimizer.zero_grad()  # right only
            loss.backward()
            optimizer.step()  # GL101
            return loss.item()

        for x, y in loader:
            train_step(x, y)
        """,
    "a raise ends the run and leaves no window open": """
        for x, y in loader:
            optimizer.zero_grad()  # right only
            loss = criterion(model(x), y)
            loss.backward()
            if not torch.isfinite(loss):
                raise RuntimeError("the loss is not finite")
            optimizer.step()  # GL101
        """,
    "a batch that fails is dropped with what it deposited": """
        for x, y in loader:
            try:
                optimizer.zero_grad()  # right only
                criterion(model(x), y).backward()
                optimizer.step()  # GL902
                optimizer.zero_grad()  # wrong only
            except RuntimeError:
                torch.cuda.empty_cache()
                continue
        """,
    "an interrupt that ends training needs no clear": """
        try:
            for x, y in loader:
                optimizer.zero_grad()  # right only
                criterion(model(x), y).backward()
                optimizer.step()  # GL101
        except KeyboardInterrupt:
            print("stopped early")
        """,
    "finally happens on every way out": """
        for x, y in loader:
            try:
                criterion(model(x), y).backward()
                optimizer.step()  # GL101
            finally:
                optimizer.zero_grad()  # right only
                print("next")
        """,
}

WITH = {
    "a with block is code like any other": """
        for x, y in loader:
            optimizer.zero_grad()  # right only
            with torch.autocast("cuda", dtype=torch.bfloat16):
                loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()  # GL101
        """,
    "profilers and progress bars have steps of their own": """
        with torch.profiler.profile() as profiler:
            for x, y in loader:
                optimizer.zero_grad()  # right only
                criterion(model(x), y).backward()
                optimizer.step()  # GL101
                profiler.step()
        """,
    "anomaly detection round the whole loop changes nothing": """
        with torch.autograd.set_detect_anomaly(True):
            for x, y in loader:
                optimizer.zero_grad()  # right only
                criterion(model(x), y).backward()
                optimizer.step()  # GL101
        """,
    "synchronisation is left out in a window, and not at its end": """
        from torch.nn.parallel import DistributedDataParallel

        model = DistributedDataParallel(model)
        for x, y in loader:
            with model.no_sync():
                (criterion(model(x[:8]), y[:8]) / 2).backward()
            (criterion(model(x[8:]), y[8:]) / 2).backward()  # right only
            optimizer.step()  # GL801
            optimizer.zero_grad()
        """,
}

COMPREHENSIONS = {
    "a comprehension over parameters clears them all": """
        for x, y in loader:
            criterion(model(x), y).backward()
            optimizer.step()  # GL101
            [p.grad.zero_() for p in model.parameters()]  # right only
        """,
    "losses made in a comprehension are one loss": """
        for x, y in loader:
            optimizer.zero_grad()  # right only
            loss = sum(criterion(model(part), y) for part in x.chunk(4))
            loss.backward()
            optimizer.step()  # GL101
        """,
    "losses kept in a list must have no graph": """
        losses = []
        for x, y in loader:
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())  # right only
            losses.append(loss)  # wrong only, GL701
        print(sum(losses))
        """,
    "a running total is a number": """
        total = 0
        for x, y in loader:
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()
            total += loss.item()  # right only
            total += loss  # wrong only, GL701
        print(total / len(loader))
        """,
}

BY_HAND = {
    "a loop over parameters clears by hand": """
        for x, y in loader:
            for p in model.parameters():  # right only
                p.grad = None  # right only
            criterion(model(x), y).backward()
            optimizer.step()  # GL101
        """,
    "a careful loop over parameters looks for None first": """
        for x, y in loader:
            for p in model.parameters():  # right only
                if p.grad is not None:  # right only
                    p.grad.detach_()  # right only
                    p.grad.zero_()  # right only
            criterion(model(x), y).backward()
            optimizer.step()  # GL101
        """,
    "a loop over groups and their parameters clears by hand": """
        for x, y in loader:
            for group in optimizer.param_groups:  # right only
                for p in group["params"]:  # right only
                    p.grad = None  # right only
            criterion(model(x), y).backward()
            optimizer.step()  # GL101
        """,
    "a model can clear as well as its optimizer": """
        for x, y in loader:
            model.zero_grad()  # right only
            criterion(model(x), y).backward()
            optimizer.step()  # GL101
        """,
    "gradients divided by hand make a mean of the window": """
        n = 4
        for step in range(1000):
            optimizer.zero_grad()
            for _ in range(n):
                x, y = next(loader)
                criterion(model(x), y).backward()  # GL301
            for p in model.parameters():  # right only
                p.grad.div_(n)  # right only
            optimizer.step()
        """,
    "training by hand clears by hand": """
        weights = torch.zeros(8, 1, requires_grad=True)
        for x, y in loader:
            loss = (x @ weights - y).pow(2).mean()
            loss.backward()
            with torch.no_grad():
                weights -= 0.1 * weights.grad  # GL101
                weights.grad.zero_()  # right only
        """,
    "training by hand clears a model's parameters": """
        for x, y in loader:
            model.zero_grad()  # right only
            criterion(model(x), y).backward()
            with torch.no_grad():
                for p in model.parameters():
                    p -= 0.1 * p.grad  # GL101
        """,
    "a clip before the step counts": """
        for x, y in loader:
            optimizer.zero_grad()
            criterion(model(x), y).backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)  # right only
            optimizer.step()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)  # wrong only, GL501
        """,
}

CLOSURES = {
    "a closure handed to step clears and deposits": """
        optimizer = torch.optim.LBFGS(model.parameters())
        for x, y in loader:
            def closure():
                optimizer.zero_grad()  # right only
                loss = criterion(model(x), y)
                loss.backward()
                return loss

            optimizer.step(closure)  # GL101
        """,
    "a decorated step is followed": """
        @torch.enable_grad()
        def train_step(x, y):
            optimizer.zero_grad()  # right only
            criterion(model(x), y).backward()
            optimizer.step()  # GL101

        for x, y in loader:
            train_step(x, y)
        """,
    "a decorator of the project's own is looked through": """
        import functools

        def timed(function):
            @functools.wraps(function)
            def inner(*args, **kwargs):
                print(function.__name__)
                return function(*args, **kwargs)
            return inner

        @timed
        def train_step(x, y):
            optimizer.zero_grad()  # right only
            criterion(model(x), y).backward()
            optimizer.step()  # GL101

        for x, y in loader:
            train_step(x, y)
        """,
    "evaluation under no_grad deposits nothing": """
        @torch.no_grad()
        def evaluate():
            return sum(criterion(model(x), y).item() for x, y in loader)

        for epoch in range(epochs):
            for x, y in loader:
                optimizer.zero_grad()  # right only
                criterion(model(x), y).backward()
                optimizer.step()  # GL101
            print(evaluate())
        """,
}

TWINS = {**LOOPS, **BRANCHES, **EXITS, **WITH, **COMPREHENSIONS, **BY_HAND, **CLOSURES}

FALSE_ALARMS: dict[str, str] = {}
MISSED: dict[str, str] = {}


@each(TWINS, after=ONE_NET, wrong=FALSE_ALARMS)
def test_nothing_is_said_of_the_correct_program(text: str) -> None:
    assert shown(check(correct(text))) == set()


@each(TWINS, after=ONE_NET, wrong=MISSED)
def test_the_fault_is_found_in_its_line_and_nothing_else(text: str) -> None:
    program, expected = faulty(text)
    assert finds(check(program), expected)


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
