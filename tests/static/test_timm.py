"""timm's scaler: one call that scales, deposits, unscales, clips, steps and updates."""

from __future__ import annotations

from tests.static.programs import ONE_NET, check, correct, each, faulty, shown

TWINS = {
    "each call deposits and steps": """
        from timm.utils import NativeScaler

        loss_scaler = NativeScaler()
        for x, y in loader:
            optimizer.zero_grad()  # right only
            loss = criterion(model(x), y)
            loss_scaler(loss, optimizer, clip_grad=1.0, parameters=model.parameters())  # GL101
        """,
    "ApexScaler is called in the same way": """
        from timm import utils

        loss_scaler = utils.ApexScaler()
        for x, y in loader:
            loss = criterion(model(x), y)
            loss_scaler(loss, optimizer)  # GL101
            optimizer.zero_grad()  # right only
        """,
    "it steps when it is told to": """
        from timm.utils import NativeScaler

        n, loss_scaler = 4, NativeScaler()
        for i, (x, y) in enumerate(loader):
            loss = criterion(model(x), y) / n
            loss_scaler(loss, optimizer, need_update=(i + 1) % n == 0)  # wrong only, GL101, GL203
            last = (i + 1) % n == 0 or i + 1 == len(loader)  # right only
            loss_scaler(loss, optimizer, need_update=last)  # right only
            if last:  # right only
                optimizer.zero_grad()  # right only
        """,
}


@each(TWINS, after=ONE_NET)
def test_nothing_is_said_of_the_right_program(text: str) -> None:
    checked = check(correct(text))
    assert (shown(checked), checked.followed, checked.unknown) == (set(), 1, ())


@each(TWINS, after=ONE_NET)
def test_the_fault_is_found(text: str) -> None:
    program, expected = faulty(text)
    assert shown(check(program)) == expected
