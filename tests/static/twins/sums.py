"""Graphs that pile up in sums: GL701 where an item is added to, or nothing steps."""

from __future__ import annotations

TWINS = {
    "meters that are made when they are asked for": """
        import collections

        class Meter:
            def __init__(self):
                self.sum = 0.0

            def update(self, value, n=1):
                self.sum += value * n  # GL701

        meters = collections.defaultdict(Meter)
        for x, y in loader:
            loss = criterion(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            loss = loss.item()  # right only
            meters["loss"].update(loss, len(y))
        """,
    "meters that a lambda makes": """
        import collections

        class Meter:
            def __init__(self):
                self.sum = 0.0

            def update(self, value, n=1):
                self.sum += value * n  # GL701

        meters = collections.defaultdict(lambda: Meter())
        for x, y in loader:
            loss = criterion(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            loss = loss.detach()  # right only
            meters["loss"].update(loss)
        """,
    "meters for each of some names, made in one go": """
        class Meter:
            def __init__(self):
                self.sum = 0.0

            def update(self, value, n=1):
                self.sum += value * n  # GL701

        meters = {name: Meter() for name in names}
        for x, y in loader:
            loss = criterion(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            parts = {"loss": loss.item()}  # right only
            parts = {"loss": loss}  # wrong only
            for name, meter in meters.items():
                meter.update(parts["loss"])
        """,
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
    "an evaluation records no graphs": """
        for epoch in range(epochs):
            for x, y in loader:
                optimizer.zero_grad()
                loss = criterion(model(x), y)
                loss.backward()
                optimizer.step()
            total = 0
            with torch.no_grad():  # right only
                for x, y in held_out:  # right only
                    total += criterion(model(x), y)  # right only
            for x, y in held_out:  # wrong only
                total += criterion(model(x), y)  # wrong only, GL701
            print(f"{epoch}: {total / len(held_out):.3f}")
        """,
    "an evaluation by a function of its own": """
        @torch.no_grad()  # right only
        def evaluate(net, data):
            total = 0
            for x, y in data:
                found = criterion(net(x), y)
                total += found  # GL701
            return total / len(data)

        best = None
        for epoch in range(epochs):
            for x, y in loader:
                optimizer.zero_grad()
                loss = criterion(model(x), y)
                loss.backward()
                optimizer.step()
            error = evaluate(model, held_out)
            if best is None or error < best:
                best = error
                print(error.item())
        """,
    "the sum of an evaluation is walked": """
        for epoch in range(epochs):
            for x, y in loader:
                optimizer.zero_grad()
                loss = criterion(model(x), y)
                loss.backward()
                optimizer.step()
            total = 0
            for x, y in held_out:
                total += criterion(model(x), y)  # GL701
            optimizer.zero_grad()  # right only
            (total / len(held_out)).backward()  # right only
            optimizer.step()  # right only
            print(total / len(held_out))
        """,
    "the sum of an evaluation goes to code out of sight": """
        from elsewhere import improve

        for epoch in range(epochs):
            for x, y in loader:
                optimizer.zero_grad()
                loss = criterion(model(x), y)
                loss.backward()
                optimizer.step()
            total = 0
            for x, y in held_out:
                total += criterion(model(x), y)  # GL701
            improve(total)  # right only
            print(total)  # wrong only
        """,
    "the sum of an evaluation is handed to a caller out of sight": """
        def train():
            for epoch in range(epochs):
                for x, y in loader:
                    optimizer.zero_grad()
                    criterion(model(x), y).backward()
                    optimizer.step()
            total = 0
            for x, y in held_out:
                total += criterion(model(x), y)  # GL701
            return total  # right only
            return total.item()  # wrong only
        """,
    "a manager may switch the recording of graphs off": """
        from elsewhere import evaluating

        for epoch in range(epochs):
            for x, y in loader:
                optimizer.zero_grad()
                loss = criterion(model(x), y)
                loss.backward()
                optimizer.step()
            total = 0
            with evaluating(model):  # right only
                for x, y in held_out:  # right only
                    total += criterion(model(x), y)  # right only
            for x, y in held_out:  # wrong only
                total += criterion(model(x), y)  # wrong only, GL701
            print(total)
        """,
    "a switch for the recording of graphs": """
        def run(data, learns):
            total = 0
            torch.set_grad_enabled(learns)  # right only
            for x, y in data:
                loss = criterion(model(x), y)
                if learns:
                    optimizer.zero_grad()
                    loss.backward()
                    optimizer.step()
                    loss = loss.detach()
                total += loss  # right only
            return total

        for epoch in range(epochs):
            run(loader, True)
            run(held_out, False)  # right only
            total = 0  # wrong only
            for x, y in held_out:  # wrong only
                total += criterion(model(x), y)  # wrong only, GL701
            print(total)  # wrong only
        """,
    "a net that is frozen records nothing": """
        for x, y in loader:
            optimizer.zero_grad()
            criterion(model(x), y).backward()
            optimizer.step()
        for p in model.parameters():  # right only
            p.requires_grad = False  # right only
        total = 0
        for x, y in held_out:
            total += criterion(model(x), y)  # GL701
        print(total)
        """,
    "a net may give numbers while it is evaluated": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.line = nn.Linear(8, 3)

            def forward(self, x):
                out = self.line(x)
                return out if self.training else out.detach()  # right only
                return out  # wrong only

        net = Net()
        one = torch.optim.SGD(net.parameters(), lr=0.1)
        for x, y in loader:
            one.zero_grad()
            criterion(net(x), y).backward()
            one.step()
        net.eval()
        total = 0
        for x, y in held_out:
            total += criterion(net(x), y)  # GL701
        print(total)
        """,
    "what a metric from elsewhere gives may be a number": """
        from elsewhere import error_rate

        for x, y in loader:
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()
        total = 0
        for x, y in held_out:
            loss = error_rate(model(x), y)  # right only
            loss = criterion(model(x), y)  # wrong only
            total += loss  # GL701
        print(total)
        """,
    "the terms of one loss are no sum over data": """
        heads = nn.ModuleList([nn.Linear(3, 3), nn.Linear(3, 3)])
        for x, y in loader:
            optimizer.zero_grad()
            out = model(x)
            criterion(out, y).backward()
            optimizer.step()
            shown = 0
            for target in y.unbind():  # right only
                shown += F.mse_loss(model(x), target)  # right only
            print(shown)
        shown = 0  # wrong only
        for x, y in held_out:  # wrong only
            shown += F.mse_loss(model(x), y)  # wrong only, GL701
        print(shown)  # wrong only
        """,
    "a running mean of numbers": """
        mean = 0
        for i, (x, y) in enumerate(loader):
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()
            mean = 0.99 * mean + 0.01 * loss.item()  # right only
            mean = 0.99 * mean + 0.01 * loss  # wrong only, GL701
        """,
    "a running mean over all batches so far": """
        mean = 0
        for i, (x, y) in enumerate(loader):
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()
            mean = loss.detach() / (i + 1) + mean * i / (i + 1)  # right only
            mean = loss / (i + 1) + mean * i / (i + 1)  # wrong only, GL701
        """,
    "a running mean that begins with the first loss": """
        mean = None
        for i, (x, y) in enumerate(loader):
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()
            mean = loss.item() if mean is None else 0.9 * mean + loss.item()  # right only
            mean = loss if mean is None else 0.9 * mean + loss  # wrong only, GL701
        """,
    "a running mean next to a count": """
        mean, n = 0, 0
        for i, (x, y) in enumerate(loader):
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()
            mean, n = mean * 0.9 + float(loss), n + 1  # right only
            mean, n = mean * 0.9 + loss, n + 1  # wrong only, GL701
        """,
    "a running mean without a graph": """
        mean = torch.zeros(())
        for x, y in loader:
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()
            with torch.no_grad():  # right only
                mean = 0.9 * mean + 0.1 * loss  # right only
            mean = 0.9 * mean + 0.1 * loss  # wrong only, GL701
        """,
    "a mean of each batch is let go with it": """
        mean = 0  # wrong only
        for x, y in loader:
            mean = 0  # right only
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()
            mean = 0.5 * mean + 0.5 * loss  # GL701
            print(mean)
        """,
    "a smoothed loss is what is walked": """
        smooth = 0
        for x, y in loader:
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            smooth = 0.9 * smooth + loss  # GL701
            smooth.backward()  # right only
            loss.backward()  # wrong only
            optimizer.step()
            smooth = smooth.detach()  # right only
            print(smooth)
        """,
    "a running mean in an item of a tuple": """
        mean = (0.0, 0.0)
        for x, y in loader:
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()
            loss = loss.item()  # right only
            mean = (mean[0] * 0.99 + loss, mean[1] * 0.99 + 1.0)  # GL701
            print(mean[0] / mean[1])
        """,
    "a loss of two terms begins anew with each call, also where it is not walked": """
        other = nn.Linear(8, 3)
        spender = torch.optim.SGD(other.parameters(), lr=0.1)
        total = torch.zeros(())

        def turn(x, y, i):
            global total  # wrong only
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            total = loss  # right only
            total += criterion(model(-x), y)  # GL701
            if i % 5 == 0:
                loss.backward()
                optimizer.step()
            return loss

        for i, (x, y) in enumerate(loader):
            shown = turn(x, y, i)
            spender.zero_grad()
            criterion(other(x), y).backward()
            spender.step()
        """,
    "a sum that a call begins with nothing, and one that it takes from its object": """
        other = nn.Linear(8, 3)
        spender = torch.optim.SGD(other.parameters(), lr=0.1)

        class Trainer:
            def __init__(self):
                self.total = 0

            def turn(self, x, y, i):
                optimizer.zero_grad()
                total = 0  # right only
                total = self.total  # wrong only
                loss = criterion(model(x), y)
                total += loss  # GL701
                self.total = total  # wrong only
                if i % 5 == 0:
                    loss.backward()
                    optimizer.step()
                return total

        trainer = Trainer()
        for i, (x, y) in enumerate(loader):
            shown = trainer.turn(x, y, i)
            spender.zero_grad()
            criterion(other(x), y).backward()
            spender.step()
        """,
    "a meter that an object has whose class is made of another of one's own": """
        class Meter(object):
            def __init__(self):
                self.sum = 0.0

            def update(self, value):
                self.sum += value  # GL701

        class Named:
            def __init__(self, name):
                self.name = name

        class Log(Named):
            def __init__(self, name):
                super().__init__(name)
                self.meter = Meter()

            def note(self, loss):
                self.meter.update(loss)

        log = Log("train")
        for x, y in loader:
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()
            loss = loss.item()  # right only
            log.note(loss)
        """,
    "the last loss of each epoch is put into a list": """
        kept = []
        for epoch in range(epochs):
            for x, y in loader:
                optimizer.zero_grad()
                loss = criterion(model(x), y)
                loss.backward()
                optimizer.step()
            loss = loss.detach()  # right only
            kept.append(loss)  # GL701
        """,
    "a list for the losses of each epoch": """
        kept = []  # wrong only
        for epoch in range(epochs):
            kept = []  # right only
            for x, y in loader:
                optimizer.zero_grad()
                loss = criterion(model(x), y)
                loss.backward()
                optimizer.step()
            kept.append(loss)  # GL701
            print(kept)
        """,
}
