"""What the losses of a window weigh: GL301 to GL303."""

from __future__ import annotations

TWINS = {
    "a function that only computes the loss gives a mean, too": """
        def loss_of(net, x, y):
            scores = net(x)
            return F.cross_entropy(scores, y)

        for i, (x, y) in enumerate(loader):
            loss = loss_of(model, x, y)
            loss = loss / 4  # right only
            loss.backward()  # GL301
            if (i + 1) % 4 == 0 or i + 1 == len(loader):
                optimizer.step()
                optimizer.zero_grad()
        """,
    "a function gives a sum that is divided by what is in all of the window": """
        def losses(net, x, y):
            scores = net(x)
            main = F.cross_entropy(scores, y, reduction="sum")  # right only
            main = F.cross_entropy(scores, y)  # wrong only
            return main, scores.argmax(1)

        for i, (x, y) in enumerate(loader):
            loss, chosen = losses(model, x, y)
            loss.backward()  # GL301
            if (i + 1) % 4 == 0 or i + 1 == len(loader):
                optimizer.step()
                optimizer.zero_grad()
        """,
    "slices of a batch weigh what they have of it": """
        def update(batch, size):
            optimizer.zero_grad()
            for start in range(0, batch.shape[0], size):
                piece = batch[start : start + size]
                loss = model(piece).pow(2).mean()
                loss = loss * len(piece) / len(batch)  # right only
                loss.backward()  # GL301
            optimizer.step()

        for epoch in range(epochs):
            for batch in loader:
                update(batch, 1024)
        """,
    "slices of what a net gives are tasks, and those of a batch are micro-batches": """
        def update(batch, tasks):
            optimizer.zero_grad()
            for start in range(0, tasks, 2):
                out = model(batch)[start : start + 2]  # right only
                out = model(batch[start : start + 2])  # wrong only
                out.pow(2).mean().backward()  # GL301
            optimizer.step()

        for epoch in range(epochs):
            for batch in loader:
                update(batch, 8)
        """,
    "a batch in one piece is no window": """
        class Trainer:
            def __init__(self, net, pieces=None):
                self.net = net
                self.one = torch.optim.SGD(net.parameters(), lr=0.1)
                self.pieces = 1 if pieces is None else pieces

            def fit(self, data):
                for x, y in data:
                    for a, b in zip(x.chunk(self.pieces), y.chunk(self.pieces)):
                        criterion(self.net(a), b).backward()  # GL301
                    self.one.step()
                    self.one.zero_grad()

        Trainer(model).fit(loader)  # right only
        Trainer(model, 4).fit(loader)  # wrong only
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
    "gradients that are divided out of a list": """
        k = 4

        def main(loader):
            net = nn.Linear(4, 2)
            opt = torch.optim.SGD(net.parameters(), 0.1)
            for step in range(100):
                opt.zero_grad()
                for _ in range(k):
                    x, y = next(loader)
                    F.cross_entropy(net(x), y).backward()  # GL301
                grads = [p.grad for p in net.parameters() if p.grad is not None]
                for g in grads:
                    g.div_(k)  # right only
                    pass  # wrong only
                opt.step()
        """,
    "what a comment says draws no other data": """
        def main(batches):
            for step in range(100):
                x, y = next(batches)
                optimizer.zero_grad()
                for k in range(4):
                    # Not next(batches): the same data, with other noise.
                    x, y = next(batches)  # wrong only
                    criterion(model(x + torch.rand_like(x)), y).backward()  # GL301
                optimizer.step()
        """,
    "gradients whose data is divided": """
        k = 4

        def main(loader):
            net = nn.Linear(4, 2)
            opt = torch.optim.SGD(net.parameters(), 0.1)
            for step in range(100):
                opt.zero_grad()
                for _ in range(k):
                    x, y = next(loader)
                    F.cross_entropy(net(x), y).backward()  # GL301
                for p in net.parameters():
                    p.grad.data = p.grad.data / k  # right only
                    pass  # wrong only
                opt.step()
        """,
    "a weight that is given to the backward": """
        k = 4

        def main(loader):
            net = nn.Linear(4, 2)
            opt = torch.optim.SGD(net.parameters(), 0.1)
            for step in range(100):
                opt.zero_grad()
                for _ in range(k):
                    x, y = next(loader)
                    loss = F.cross_entropy(net(x), y)
                    torch.autograd.backward(loss, torch.tensor(1.0 / k))  # right only
                    torch.autograd.backward(loss)  # wrong only, GL301
                opt.step()
        """,
    "a mean that a net computes itself, by losses that it holds": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.line = nn.Linear(8, 3)
                self.far = nn.MSELoss()
                self.sure = nn.BCELoss()

            def forward(self, x, y=None):
                out = self.line(x)
                loss = self.far(out, y) + 100 * self.sure(torch.sigmoid(out), y)
                return loss, out

        net = Net()
        spender = torch.optim.SGD(net.parameters(), lr=0.1)
        n = 4
        for i, (x, y) in enumerate(loader):
            loss, out = net(x, y)
            loss = loss / n  # right only
            loss.backward()  # GL301
            if (i + 1) % n == 0 or i + 1 == len(loader):
                spender.step()
                spender.zero_grad()
        """,
    "a loss that a net holds may be a sum": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.line = nn.Linear(8, 3)
                self.far = nn.MSELoss()
                self.far = nn.MSELoss(reduction="sum")  # right only

            def forward(self, x, y=None):
                out = self.line(x)
                return self.far(out, y), out

        net = Net()
        spender = torch.optim.SGD(net.parameters(), lr=0.1)
        n = 4
        for i, (x, y) in enumerate(loader):
            loss, out = net(x, y)
            print(loss)
            loss.backward()  # GL301
            if (i + 1) % n == 0 or i + 1 == len(loader):
                spender.step()
                spender.zero_grad()
        """,
    "a net that gives its loss where it is given labels": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.line = nn.Linear(8, 3)
                self.far = nn.MSELoss()

            def forward(self, x, y=None):
                out = self.line(x)
                if y is None:
                    return out
                loss = self.far(out, y)
                return loss * len(x), out  # right only
                return loss, out  # wrong only

        net = Net()
        spender = torch.optim.SGD(net.parameters(), lr=0.1)
        n = 4
        for i, (x, y) in enumerate(loader):
            loss, out = net(x, y)
            print(loss)
            loss.backward()  # GL301
            if (i + 1) % n == 0 or i + 1 == len(loader):
                spender.step()
                spender.zero_grad()
        """,
    "a net that gives its loss or what it found": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.line = nn.Linear(8, 3)
                self.far = nn.MSELoss()

            def forward(self, x, y=None):
                out = self.line(x)
                loss = self.far(out, y)
                return out if y is None else (loss, out)

        net = Net()
        spender = torch.optim.SGD(net.parameters(), lr=0.1)
        n = 4
        for i, (x, y) in enumerate(loader):
            loss, out = net(x, y)
            loss = loss / n  # right only
            loss.backward()  # GL301
            if (i + 1) % n == 0 or i + 1 == len(loader):
                spender.step()
                spender.zero_grad()
        """,
    "a net that sums the losses of single items": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.line = nn.Linear(8, 3)
                self.far = nn.MSELoss()

            def forward(self, x, y=None):
                out = self.line(x)
                loss = 0  # right only
                for one, other in zip(out, y):  # right only
                    loss = loss + self.far(one, other)  # right only
                loss = self.far(out, y)  # wrong only
                return loss, out

        net = Net()
        spender = torch.optim.SGD(net.parameters(), lr=0.1)
        n = 4
        for i, (x, y) in enumerate(loader):
            loss, out = net(x, y)
            print(loss)
            loss.backward()  # GL301
            if (i + 1) % n == 0 or i + 1 == len(loader):
                spender.step()
                spender.zero_grad()
        """,
    "every second batch, by what is left of its number": """
        import argparse

        parser = argparse.ArgumentParser()
        parser.add_argument("--windows", type=int, default=2)
        options = parser.parse_args()
        for epoch in range(epochs):
            for i, (x, y) in enumerate(loader):
                done = len(loader) * epoch + i
                loss = criterion(model(x), y)
                loss = loss / options.windows  # right only
                loss.backward()  # GL301
                if done % options.windows:
                    optimizer.step()
                    optimizer.zero_grad()
        """,
    "a sum over the tokens of a batch, divided by their number, is a mean": """
        summed, step = nn.KLDivLoss(reduction="sum"), 0
        for epoch in range(epochs):
            for batch in loader:
                loss = summed(model(batch.x).log_softmax(-1), batch.y) / batch.ntokens
                (loss / 4).backward()  # right only
                loss.backward()  # wrong only, GL301
                step += 1
                if step % 4 == 0:
                    optimizer.step()
                    optimizer.zero_grad()
        """,
    "a divergence is a mean over the batch": """
        divergence, step = nn.KLDivLoss(reduction="batchmean"), 0
        for epoch in range(epochs):
            for x, y in loader:
                loss = divergence(model(x).log_softmax(-1), y)
                (loss / 4).backward()  # right only
                loss.backward()  # wrong only, GL301
                step += 1
                if step % 4 == 0:
                    optimizer.step()
                    optimizer.zero_grad()
        """,
    "parts of a batch are summed up, and divided by the rows of all of it": """
        for x, y in loader:
            optimizer.zero_grad()
            for part, told in zip(x.split(4), y.split(4)):
                loss = F.cross_entropy(model(part), told, reduction="sum")
                (loss / len(x)).backward()  # right only
                (loss / len(part)).backward()  # wrong only, GL301
            optimizer.step()
        """,
}
