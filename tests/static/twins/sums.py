"""Graphs that pile up in sums: GL701 where an item is added to, or nothing steps."""

from __future__ import annotations

TWINS = {
    "an item of what was made for this batch is let go with it": """
        sums = torch.zeros(16, 3)  # wrong only
        for x, y in loader:
            optimizer.zero_grad()
            out = model(x)
            sums = out  # right only
            sums[:, 1:] -= out[:, :1]  # GL701
            loss = criterion(out, y)
            loss.backward()
            optimizer.step()
        """,
    "parts of one loss are items of a list": """
        parts = [0, 0]  # wrong only
        for epoch in range(epochs):
            parts = [0, 0]  # right only
            optimizer.zero_grad()
            for k in range(2):
                parts[k] += criterion(model(dataset.x[k]), dataset.y[k])  # GL701
            sum(parts).backward()  # right only
            criterion(model(dataset.x), dataset.y).backward()  # wrong only
            optimizer.step()
        """,
    "parts of one loss are items of a tensor": """
        for epoch in range(epochs):
            parts = torch.zeros(2)
            optimizer.zero_grad()
            for k in range(2):
                parts[k] += criterion(model(dataset.x[k]), dataset.y[k])  # right only
                loss = criterion(model(dataset.x[k]), dataset.y[k])  # wrong only
                loss.backward()  # wrong only
                optimizer.step()  # wrong only
                optimizer.zero_grad()  # wrong only
                parts[k] += loss  # wrong only, GL701
            parts.sum().backward()  # right only
            optimizer.step()  # right only
        """,
    "parts of one loss are items of a dict": """
        for epoch in range(epochs):
            parts = {}
            optimizer.zero_grad()
            for k in range(2):
                parts[k] = 0  # right only
                parts[k] += criterion(model(dataset.x[k]), dataset.y[k])  # right only
                loss = criterion(model(dataset.x[k]), dataset.y[k])  # wrong only
                loss.backward()  # wrong only
                optimizer.step()  # wrong only
                optimizer.zero_grad()  # wrong only
                parts["all"] += loss  # wrong only, GL701
            sum(parts.values()).backward()  # right only
            optimizer.step()  # right only
        """,
    "items of what a net gives are changed one by one": """
        moved = [0, 0, 0]  # wrong only
        for step in range(1000):
            optimizer.zero_grad()
            out = model(dataset.x)
            for k in range(2):
                out[:, k] -= out[:, 2]  # right only
                moved[k] -= out[:, 2].mean()  # wrong only, GL701
            criterion(out, dataset.y).backward()
            optimizer.step()
        """,
}
