"""Mixed precision and schedulers: scale, unscale, clip, step, update, in their order."""

from __future__ import annotations

from tests.static.programs import ONE_NET, check, correct, each, faulty, finds, shown

SCALER = """\
scaler = torch.amp.GradScaler()
"""

AMP = {
    "scale, unscale, clip, step, update": """
        for x, y in loader:
            optimizer.zero_grad()
            scaler.scale(criterion(model(x), y)).backward()
            scaler.unscale_(optimizer)  # right only
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)  # GL401
            scaler.step(optimizer)
            scaler.update()
        """,
    "a scaled loss is stepped on by its scaler": """
        for x, y in loader:
            optimizer.zero_grad()
            scaler.scale(criterion(model(x), y)).backward()
            scaler.step(optimizer)  # right only
            scaler.update()  # right only
            optimizer.step()  # wrong only, GL402
        """,
    "a scaler is updated after its step": """
        for x, y in loader:
            optimizer.zero_grad()
            scaler.scale(criterion(model(x), y)).backward()
            scaler.step(optimizer)  # GL403
            scaler.update()  # right only
        """,
    "gradients are unscaled once": """
        for x, y in loader:
            optimizer.zero_grad()
            scaler.scale(criterion(model(x), y)).backward()
            scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            scaler.unscale_(optimizer)  # wrong only, GL405
            scaler.step(optimizer)
            scaler.update()
        """,
    "scaled gradients are cleared like any other": """
        for x, y in loader:
            scaler.scale(criterion(model(x), y)).backward()
            scaler.step(optimizer)  # GL101
            scaler.update()
            optimizer.zero_grad()  # right only
        """,
    "both sides of an option scale and step alike": """
        from data import amp

        for x, y in loader:
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            if amp:
                scaler.scale(loss).backward()
                scaler.unscale_(optimizer)  # right only
            else:
                loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)  # GL401
            if amp:
                scaler.step(optimizer)
                scaler.update()
            else:
                optimizer.step()
        """,
    "a scaler may be None": """
        from data import amp

        scaler = torch.amp.GradScaler() if amp else None
        for x, y in loader:
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            if scaler is not None:
                scaler.scale(loss).backward()
                scaler.step(optimizer)  # GL403
                scaler.update()  # right only
            else:
                loss.backward()
                optimizer.step()
        """,
    "two optimizers share one scaler": """
        other = nn.Linear(8, 3)
        second = torch.optim.Adam(other.parameters())
        for x, y in loader:
            optimizer.zero_grad()
            second.zero_grad()
            loss = criterion(model(x) + other(x), y)
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()  # wrong only, GL404
            scaler.step(second)
            scaler.update()
        """,
    "a window of scaled losses is unscaled once it is full": """
        n = 4
        for i, (x, y) in enumerate(loader):
            scaler.scale(criterion(model(x), y) / n).backward()
            scaler.unscale_(optimizer)  # wrong only, GL405
            if (i + 1) % n == 0 or i + 1 == len(loader):
                scaler.unscale_(optimizer)  # right only
                nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                scaler.step(optimizer)
                scaler.update()
                optimizer.zero_grad()
        """,
    "scaled and unscaled losses do not mix": """
        for x, y in loader:
            optimizer.zero_grad()
            scaler.scale(criterion(model(x), y)).backward()
            penalty = model.weight.abs().sum()
            scaler.scale(penalty).backward()  # right only
            penalty.backward()  # wrong only, GL404
            scaler.step(optimizer)
            scaler.update()
        """,
    "unscale_ and a plain step break no law": """
        for x, y in loader:
            optimizer.zero_grad()
            scaler.scale(criterion(model(x), y)).backward()
            scaler.unscale_(optimizer)  # right only
            optimizer.step()  # GL402
            scaler.update()
        """,
    "the old names of the scaler mean the same": """
        from torch.cuda.amp import GradScaler, autocast

        scaler = GradScaler(enabled=True)
        for x, y in loader:
            optimizer.zero_grad(set_to_none=True)
            with autocast():
                loss = criterion(model(x), y)
            scaler.scale(loss).backward()
            scaler.step(optimizer)  # GL403
            scaler.update()  # right only
        """,
}

SCHEDULERS = {
    "a scheduler for each epoch comes after its training": """
        scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 10)
        for epoch in range(epochs):
            scheduler.step()  # wrong only, GL503
            for x, y in loader:
                optimizer.zero_grad()
                criterion(model(x), y).backward()
                optimizer.step()
            scheduler.step()  # right only
        """,
    "a scheduler for each step comes after the step": """
        scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 1000)
        for x, y in loader:
            optimizer.zero_grad()
            criterion(model(x), y).backward()
            scheduler.step()  # wrong only, GL503
            optimizer.step()
            scheduler.step()  # right only
        """,
    "a scheduler that waits for a metric is stepped with it": """
        scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer)
        for epoch in range(epochs):
            total = 0.0
            for x, y in loader:
                optimizer.zero_grad()  # right only
                loss = criterion(model(x), y)
                loss.backward()
                optimizer.step()  # GL101
                total += loss.item()
            scheduler.step(total)
        """,
    "several schedulers in a row": """
        warmup = torch.optim.lr_scheduler.LinearLR(optimizer)
        decay = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)
        scheduler = torch.optim.lr_scheduler.SequentialLR(optimizer, [warmup, decay], [5])
        for epoch in range(epochs):
            scheduler.step()  # wrong only, GL503
            for x, y in loader:
                optimizer.zero_grad()
                criterion(model(x), y).backward()
                optimizer.step()
            scheduler.step()  # right only
        """,
}

TWINS = {**AMP, **SCHEDULERS}

FALSE_ALARMS: dict[str, str] = {}
MISSED: dict[str, str] = {}


@each(TWINS, after=ONE_NET + SCALER, wrong=FALSE_ALARMS)
def test_nothing_is_said_of_the_correct_program(text: str) -> None:
    assert shown(check(correct(text))) == set()


@each(TWINS, after=ONE_NET + SCALER, wrong=MISSED)
def test_the_fault_is_found_in_its_line_and_nothing_else(text: str) -> None:
    program, expected = faulty(text)
    assert finds(check(program), expected)
