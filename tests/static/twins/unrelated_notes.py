"""Faults about one object that a note about another object once hid."""

from __future__ import annotations

TWINS = {
    "a question about another tensor's gradient": """
        w = torch.zeros(3, requires_grad=True)
        for x, y in loader:
            optimizer.zero_grad()
            criterion(model(x), y).backward()
            if w.grad is not None:
                print("a gradient")
            optimizer.step()
            optimizer.zero_grad()  # wrong only
            print(model.weight.grad.norm())  # GL606
        """,
    "a hook on the steps of another optimizer, in another function": """
        other = nn.Linear(8, 3)

        def second_turn():
            second = torch.optim.SGD(other.parameters(), lr=0.1)
            second.register_step_post_hook(lambda *_: second.zero_grad())
            for x, y in loader:
                criterion(other(x), y).backward()
                second.step()

        def first_turn():
            for x, y in loader:
                optimizer.zero_grad()  # right only
                criterion(model(x), y).backward()
                optimizer.step()  # GL101

        second_turn()
        first_turn()
        """,
    "a bound clear of another net": """
        other = nn.Linear(8, 3)
        clear = other.zero_grad
        for x, y in loader:
            clear()
            optimizer.zero_grad()  # right only
            criterion(model(x), y).backward()
            optimizer.step()  # GL101
        """,
}
"""The first of a pair is silent; in the second the fault is found."""
