"""Windows of several micro-batches: where they end, what is left over, and what they weigh."""

from __future__ import annotations

from tests.static.programs import ONE_NET, check, correct, each, faulty, finds, shown

BOUNDARIES = {
    "(i + 1) % n == 0 closes a window, and a flush closes the last": """
        n = 4
        for epoch in range(epochs):
            for i, (x, y) in enumerate(loader):
                (criterion(model(x), y) / n).backward()  # GL203
                if (i + 1) % n == 0:
                    optimizer.step()
                    optimizer.zero_grad()
            optimizer.step()  # right only
            optimizer.zero_grad()  # right only
        """,
    "i % n == n - 1 closes a window": """
        n = 4
        for epoch in range(epochs):
            for i, (x, y) in enumerate(loader):
                (criterion(model(x), y) / n).backward()  # GL203
                last = i + 1 == len(loader)  # right only
                if i % n == n - 1 or last:  # right only
                if i % n == n - 1:  # wrong only
                    optimizer.step()
                    optimizer.zero_grad()
        """,
    "the window's size may come from outside": """
        from data import args

        for epoch in range(args.epochs):
            for i, (x, y) in enumerate(loader):
                loss = criterion(model(x), y) / args.accumulate
                loss.backward()  # GL203
                if (i + 1) % args.accumulate == 0 or i + 1 == len(loader):  # right only
                if (i + 1) % args.accumulate == 0:  # wrong only
                    optimizer.step()
                    optimizer.zero_grad()
        """,
    "or i + 1 == len(loader) closes the last window": """
        n = 8
        for epoch in range(epochs):
            for i, (x, y) in enumerate(loader):
                (criterion(model(x), y) / n).backward()  # GL203
                if (i + 1) % n == 0 or (i + 1) == len(loader):  # right only
                if (i + 1) % n == 0:  # wrong only
                    optimizer.step()
                    optimizer.zero_grad()
        """,
    "enumerate may begin with one": """
        n = 4
        for epoch in range(epochs):
            for i, (x, y) in enumerate(loader, start=1):
                (criterion(model(x), y) / n).backward()  # GL203
                if i % n == 0 or i == len(loader):  # right only
                if i % n == 0:  # wrong only
                    optimizer.step()
                    optimizer.zero_grad()
        """,
    "a counter that runs on across epochs leaves nothing over": """
        n = 4
        seen = 0
        for epoch in range(epochs):
            seen = 0  # wrong only
            for x, y in loader:
                (criterion(model(x), y) / n).backward()  # GL203
                seen += 1
                if seen % n == 0:
                    optimizer.step()
                    optimizer.zero_grad()
        """,
    "a counter that is set back closes windows too": """
        n = 4
        pending = 0
        for epoch in range(epochs):
            pending = 0  # wrong only
            for x, y in loader:
                (criterion(model(x), y) / n).backward()  # GL203
                pending += 1
                if pending == n:
                    optimizer.step()
                    optimizer.zero_grad()
                    pending = 0
        """,
    "a flag says that the window is full": """
        n = 4
        for epoch in range(epochs):
            for i, (x, y) in enumerate(loader):
                full = (i + 1) % n == 0
                full = full or i + 1 == len(loader)  # right only
                (criterion(model(x), y) / n).backward()  # GL203
                if full:
                    optimizer.step()
                    optimizer.zero_grad()
        """,
    "if not full: continue leaves out the rest of the round": """
        n = 4
        for epoch in range(epochs):
            for i, (x, y) in enumerate(loader):
                (criterion(model(x), y) / n).backward()  # GL203
                if (i + 1) % n != 0 and i + 1 < len(loader):  # right only
                if (i + 1) % n != 0:  # wrong only
                    continue
                optimizer.step()
                optimizer.zero_grad()
        """,
    "a flush after the loop may ask whether something is left": """
        n = 4
        for epoch in range(epochs):
            for i, (x, y) in enumerate(loader):
                (criterion(model(x), y) / n).backward()  # GL203
                if (i + 1) % n == 0:
                    optimizer.step()
                    optimizer.zero_grad()
            if len(loader) % n != 0:  # right only
                optimizer.step()  # right only
                optimizer.zero_grad()  # right only
        """,
    "an inner loop over micro-batches is a window": """
        n = 4
        batches = iter(loader)
        for step in range(1000):
            for micro in range(n):
                x, y = next(batches)
                loss = criterion(model(x), y)
                loss = loss / n  # right only
                loss.backward()  # GL301
            optimizer.step()
            optimizer.zero_grad()
        """,
    "clearing at the start of a window is as good as at its end": """
        n = 4
        for epoch in range(epochs):
            for i, (x, y) in enumerate(loader):
                if i % n == 0:
                    optimizer.zero_grad()  # right only
                    print("a window begins")
                loss = criterion(model(x), y) / n
                loss.backward()
                if (i + 1) % n == 0 or i + 1 == len(loader):
                    optimizer.step()  # GL101
        """,
}

CONTENTS = {
    "a clear in each micro-batch throws the window away": """
        n = 4
        for epoch in range(epochs):
            for i, (x, y) in enumerate(loader):
                optimizer.zero_grad()  # wrong only, GL201
                (criterion(model(x), y) / n).backward()
                if (i + 1) % n == 0 or i + 1 == len(loader):
                    optimizer.step()
                    optimizer.zero_grad()  # right only
        """,
    "a window that is never cleared is spent again": """
        n = 4
        for i, (x, y) in enumerate(loader):
            (criterion(model(x), y) / n).backward()
            if (i + 1) % n == 0 or i + 1 == len(loader):
                optimizer.step()  # GL101
                optimizer.zero_grad()  # right only
        """,
    "a mean is divided by the size of its window": """
        n = 4
        for i, (x, y) in enumerate(loader):
            loss = criterion(model(x), y)
            loss = loss / n  # right only
            loss.backward()  # GL301
            if (i + 1) % n == 0 or i + 1 == len(loader):
                optimizer.step()
                optimizer.zero_grad()
        """,
    "dividing in place is dividing": """
        n = 4
        for i, (x, y) in enumerate(loader):
            loss = criterion(model(x), y)
            loss /= n  # right only
            loss.backward()  # GL301
            if (i + 1) % n == 0 or i + 1 == len(loader):
                optimizer.step()
                optimizer.zero_grad()
        """,
    "a clip belongs to the window and not to each micro-batch": """
        n = 4
        for i, (x, y) in enumerate(loader):
            (criterion(model(x), y) / n).backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)  # wrong only, GL502
            if (i + 1) % n == 0 or i + 1 == len(loader):
                nn.utils.clip_grad_norm_(model.parameters(), 1.0)  # right only
                optimizer.step()
                optimizer.zero_grad()
        """,
    "a scheduler moves with its window": """
        n = 4
        scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.1, total_steps=1000)
        for i, (x, y) in enumerate(loader):
            (criterion(model(x), y) / n).backward()
            if (i + 1) % n == 0 or i + 1 == len(loader):
                optimizer.step()
                optimizer.zero_grad()
                scheduler.step()  # right only
            scheduler.step()  # wrong only, GL504
        """,
    "a loop over tasks is a sum, and no window": """
        for x, y in loader:
            optimizer.zero_grad()  # right only
            for task in range(3):
                criterion(model(x)[task], y[task]).backward()
            optimizer.step()  # GL101
        """,
    "a window with an option on both sides": """
        from data import args

        scaler = torch.amp.GradScaler()
        for epoch in range(epochs):
            for i, (x, y) in enumerate(loader):
                loss = criterion(model(x), y) / args.n
                if args.amp:
                    scaler.scale(loss).backward()
                else:
                    loss.backward()
                if (i + 1) % args.n == 0 or i + 1 == len(loader):
                    if args.amp:
                        scaler.step(optimizer)  # GL101
                        scaler.update()
                    else:
                        optimizer.step()
                        optimizer.zero_grad()  # wrong only
                    optimizer.zero_grad()  # right only
        """,
}

TWINS = {**BOUNDARIES, **CONTENTS}


FALSE_ALARMS: dict[str, str] = {}
MISSED: dict[str, str] = {}


@each(TWINS, after=ONE_NET, wrong=FALSE_ALARMS)
def test_nothing_is_said_of_the_correct_program(text: str) -> None:
    assert shown(check(correct(text))) == set()


@each(TWINS, after=ONE_NET, wrong=MISSED)
def test_the_fault_is_found_in_its_line_and_nothing_else(text: str) -> None:
    program, expected = faulty(text)
    assert finds(check(program), expected)
