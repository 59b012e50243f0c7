"""Windows that are not full when the data ends: GL203."""

from __future__ import annotations

TWINS = {
    "a flush that leaves out the first batch is one, if there are others": """
        for epoch in range(epochs):
            for i, (x, y) in enumerate(loader):
                (criterion(model(x), y) / 4).backward()  # GL203
                if i > 0 and (i % 4 == 0 or i == len(loader) - 1):  # right only
                if i > 0 and i % 4 == 0:  # wrong only
                    optimizer.step()
                    optimizer.zero_grad()
        """,
    "what is cut to whole windows fills a counter that is set back": """
        def epoch(batches, size):
            pending = 0
            batches = batches[: len(batches) // size * size]  # right only
            for x, y in batches:
                (criterion(model(x), y) / size).backward()  # GL203
                pending += 1
                if pending == size:
                    optimizer.step()
                    optimizer.zero_grad()
                    pending = 0

        for _ in range(epochs):
            epoch(list(loader), 3)
        """,
    "rows that are split stand in the source": """
        rows = torch.randn(64, 8)  # right only
        rows = torch.randn(60, 8)  # wrong only
        for epoch in range(epochs):
            for i, x in enumerate(rows.split(4)):
                (model(x).pow(2).mean() / 2).backward()  # GL203
                if i % 2 == 1:
                    optimizer.step()
                    optimizer.zero_grad()
        """,
    "a generator gives as many batches as its loop has rounds": """
        rows = torch.randn(64, 8)

        def batches(size):
            for start in range(0, len(rows), size):
                yield rows[start : start + size]

        for epoch in range(epochs):
            for i, x in enumerate(batches(4)):  # right only
            for i, x in enumerate(batches(7)):  # wrong only
                (model(x).pow(2).mean() / 4).backward()  # GL203
                if i % 4 == 3:
                    optimizer.step()
                    optimizer.zero_grad()
        """,
    "a generator that leaves some out gives fewer": """
        rows = torch.randn(64, 8)

        def batches(size):
            for start in range(0, len(rows), size):
                if rows[start, 0] < 0: continue  # wrong only
                yield rows[start : start + size]

        for epoch in range(epochs):
            for i, x in enumerate(batches(4)):
                (model(x).pow(2).mean() / 4).backward()  # GL203
                if i % 4 == 3:
                    optimizer.step()
                    optimizer.zero_grad()
        """,
    "a batch that fails at the end of the data is no window that was forgotten": """
        for epoch in range(epochs):
            for i, (x, y) in enumerate(loader):
                try:
                    out = model(x)
                except RuntimeError:
                    continue
                (criterion(out, y) / 4).backward()  # GL203
                if (i + 1) % 4 == 0 or i + 1 == len(loader):  # right only
                if (i + 1) % 4 == 0:  # wrong only
                    optimizer.step()
                    optimizer.zero_grad()
        """,
    "a loader that goes through one without an end has none": """
        class Mixed:
            def __init__(self, loaders):
                self.loaders = loaders

            def __iter__(self):
                while True:
                    for batches in self.loaders:
                        yield next(batches)
                    break  # wrong only

        class Ahead:
            def __init__(self, loader):
                self.loader = loader

            def __iter__(self):
                batches = iter(self.loader)
                batch = next(batches, None)
                while batch is not None:
                    yield batch
                    batch = next(batches, None)

        mixed, done = Ahead(Mixed(loaders)), 0
        while done < most:
            for i, (x, y) in enumerate(mixed):
                (criterion(model(x), y) / size).backward()  # GL203
                if (i + 1) % size == 0:
                    done += 1
                    optimizer.step()
                    optimizer.zero_grad()
                if done == most:
                    break
        """,
    "who hands a function to others to call is where it begins": """
        def epoch(model, loader, optimizer, size=1):
            for i, (x, y) in enumerate(loader):
                (criterion(model(x), y) / size).backward()  # GL203
                if (i + 1) % size == 0:
                    optimizer.step()
                    optimizer.zero_grad()

        def worker(rank):
            net = torch.nn.Linear(8, 2)
            own = torch.optim.SGD(net.parameters(), lr=0.1)
            for _ in range(epochs):
                epoch(net, loader, own)  # right only
                epoch(net, loader, own, 4)  # wrong only

        torch.multiprocessing.spawn(worker, nprocs=2)
        """,
    "a dataset of one's own says how long it is": """
        class Rows(torch.utils.data.Dataset):
            def __len__(self):
                return 96  # right only
                return 100  # wrong only

            def __getitem__(self, i):
                return torch.randn(8), 1

        for epoch in range(epochs):
            for i, (x, y) in enumerate(DataLoader(Rows(), batch_size=8)):
                (criterion(model(x), y) / 4).backward()  # GL203
                if (i + 1) % 4 == 0:
                    optimizer.step()
                    optimizer.zero_grad()
        """,
    "a field of which the default is a window of one": """
        from dataclasses import dataclass, field

        @dataclass
        class Options:
            window: int = field(default=1)  # right only
            window: int = field(default=4)  # wrong only

        for epoch in range(epochs):
            for i, (x, y) in enumerate(loader):
                (criterion(model(x), y) / Options.window).backward()  # GL203
                if (i + 1) % Options.window == 0:
                    optimizer.step()
                    optimizer.zero_grad()
        """,
    "a window has one micro-batch or more": """
        class Trainer:
            def __init__(self, net, optim, grad_accum_count=1, rank=0, ranks=1):
                self.net, self.optim, self.grad_accum_count = net, optim, grad_accum_count
                self.rank, self.ranks = rank, ranks

            def train(self, data):
                batches, accum = [], 0
                for i, batch in enumerate(data):
                    if i % self.ranks == self.rank:
                        batches.append(batch)
                        accum += 1
                        if accum == self.grad_accum_count:
                            self.update(batches)
                            batches, accum = [], 0

            def update(self, batches):
                if self.grad_accum_count > 1:
                    self.net.zero_grad()
                for x, y in batches:
                    if self.grad_accum_count == 1:
                        self.net.zero_grad()
                    (criterion(self.net(x), y) / len(batches)).backward()  # GL203
                    if self.grad_accum_count == 1:
                        self.optim.step()
                if self.grad_accum_count > 1:  # right only
                if self.ranks > 1:  # wrong only
                    self.optim.step()
        """,
    "who makes sure that windows are whole leaves none over": """
        def parts(data, n):
            if len(data) % n != 0:  # right only
                raise ValueError("the batches must fill whole windows")  # right only
            return data

        def fit(data, n):
            for i, (x, y) in enumerate(parts(data, n)):
                (criterion(model(x), y) / n).backward()  # GL203
                if (i + 1) % n == 0:
                    optimizer.step()
                    optimizer.zero_grad()
        """,
    "data that begins again does not end": """
        def again(data):
            while True:  # right only
                yield from data

        def fit(data, n, updates):
            done = 0
            for i, (x, y) in enumerate(again(data)):
                (criterion(model(x), y) / n).backward()  # GL203
                if (i + 1) % n == 0:
                    optimizer.step()
                    optimizer.zero_grad()
                    done += 1
                if done >= updates:
                    return
        """,
    "who begins only whole windows leaves none over": """
        def fit(data, n, windows):
            for i, (x, y) in enumerate(data):
                window = i // n
                if window >= windows:  # right only
                    continue  # right only
                (criterion(model(x), y) / n).backward()  # GL203
                if (i + 1) % n == 0:
                    optimizer.step()
                    optimizer.zero_grad()
        """,
    "what never steps by itself has no windows": """
        class Gan:
            def fit(self, data, n):
                for i, (x, y) in enumerate(data):
                    self.theirs.zero_grad()  # right only
                    fake = self.author(x).detach()
                    (self.critic(fake).mean() - self.critic(y).mean()).backward()  # GL203, GL301
                    self.theirs.step()  # right only
                    if i % n == 0:
                        self.theirs.step()  # wrong only
                        self.theirs.zero_grad()  # wrong only
                        self.ours.zero_grad()  # right only
                        (-self.critic(self.author(x)).mean()).backward()  # right only
                        self.ours.step()  # right only
        """,
    "what has a backward and a step is no tensor": """
        def fit(engine, net, one, data, deep):
            net, one, data = engine.distribute(net=net, one=one, data=data)
            for i, (x, y) in enumerate(data):
                loss = net(x, y)
                if deep:
                    net.backward(loss)  # right only
                    loss.backward()  # wrong only, GL203
                    if i % 100 == 0:  # wrong only
                        one.step()  # wrong only
                        one.zero_grad()  # wrong only
                else:
                    one.zero_grad()
                    loss.backward()
                    one.step()
                if deep:  # right only
                    net.step()  # right only
                if i % 100 == 0:
                    schedule.step()
        """,
    "the last round of a range is the one before its end": """
        def fit(net, one, batch, rounds, window):
            for epoch in range(epochs):
                one.zero_grad()
                for k in range(rounds):
                    x, y = batch(k)
                    (criterion(net(x), y) / window).backward()  # GL203
                    if (k + 1) % window == 0 or (k + 1) == rounds:  # right only
                        one.step()  # right only
                        one.zero_grad()  # right only
                    if (k + 1) % window == 0:  # wrong only
                        one.step()  # wrong only
                        one.zero_grad()  # wrong only
        """,
    "a length is one by any name": """
        class Trainer:
            def __init__(self, net, data, window):
                self.net, self.data, self.window = net, data, window
                self.some, self.end = len(data), len(data) - 1
                self.one = torch.optim.SGD(net.parameters(), lr=0.1)

            def fit(self):
                for i, (x, y) in enumerate(self.data):
                    (criterion(self.net(x), y) / self.window).backward()  # GL203
                    if (i + 1) % self.window == 0 or i + 1 == self.some:  # right only
                        self.one.step()  # right only
                        self.one.zero_grad()  # right only
                    if (i + 1) % self.window == 0:  # wrong only
                        self.one.step()  # wrong only
                        self.one.zero_grad()  # wrong only

            def fit_again(self):
                for i, (x, y) in enumerate(self.data):
                    (criterion(self.net(x), y) / self.window).backward()  # GL203
                    if (i + 1) % self.window == 0 or i == self.end:  # right only
                        self.one.step()  # right only
                        self.one.zero_grad()  # right only
                    if (i + 1) % self.window == 0:  # wrong only
                        self.one.step()  # wrong only
                        self.one.zero_grad()  # wrong only

            def all(self):
                for epoch in range(3):
                    self.fit()
                for epoch in range(3):
                    self.fit_again()
        """,
    "a flag says that a window is begun": """
        for epoch in range(epochs):
            begun = False
            for i, (x, y) in enumerate(loader):
                (criterion(model(x), y) / 4).backward()  # GL203
                begun = True
                if (i + 1) % 4 == 0:
                    optimizer.step()
                    optimizer.zero_grad()
                    begun = False
            if begun:  # right only
                optimizer.step()  # right only
                optimizer.zero_grad()  # right only
        """,
    "what would not fill a window is left out": """
        from options import window

        for epoch in range(epochs):
            usable = len(loader) // window * window  # right only
            for i, (x, y) in enumerate(loader):
                if i >= usable:  # right only
                    break  # right only
                (criterion(model(x), y) / window).backward()  # GL203
                if (i + 1) % window == 0:
                    optimizer.step()
                    optimizer.zero_grad()
        """,
    "after its loop a counter is the last one, whatever it was before": """
        for epoch in range(epochs):
            optimizer.zero_grad()
            i = -1
            for i, (x, y) in enumerate(loader):
                (criterion(model(x), y) / 4).backward()  # GL203
                if (i + 1) % 4 == 0:
                    optimizer.step()
                    optimizer.zero_grad()
            if (i + 1) % 4 != 0:  # right only
                optimizer.step()  # right only
                optimizer.zero_grad()  # right only
        """,
    "so many windows as there are rounds for": """
        def fit(net, one, batches, updates, window):
            for epoch in range(epochs):
                one.zero_grad()
                rounds = updates * window  # right only
                rounds = updates  # wrong only
                for k in range(rounds):
                    (criterion(*net(next(batches))) / window).backward()  # GL203
                    if (k + 1) % window == 0:
                        one.step()
                        one.zero_grad()
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
    "another counter knows what is left": """
        def fit(net, one, data, window):
            for epoch in range(epochs):
                left = 0
                for i, (x, y) in enumerate(data):
                    (criterion(net(x), y) / window).backward()  # GL203
                    left += 1
                    if (i + 1) % window == 0:
                        one.step()
                        one.zero_grad()
                        left = 0
                if left:  # right only
                    one.step()  # right only
                    one.zero_grad()  # right only
        """,
    "whoever still has a gradient is stepped": """
        def fit(net, one, data, window):
            for epoch in range(epochs):
                for i, (x, y) in enumerate(data):
                    (criterion(net(x), y) / window).backward()  # GL203
                    if (i + 1) % window == 0:
                        one.step()
                        one.zero_grad()
                if any(p.grad is not None for p in net.parameters()):  # right only
                    one.step()  # right only
                    one.zero_grad()  # right only
        """,
    "the data says which batch is the last": """
        def fit(net, one, data, window):
            for epoch in range(epochs):
                for i, (x, y, last) in enumerate(data):
                    (criterion(net(x), y) / window).backward()  # GL203
                    full = i % window == window - 1
                    if full or last:  # right only
                        one.step()  # right only
                        one.zero_grad()  # right only
                    if full:  # wrong only
                        one.step()  # wrong only
                        one.zero_grad()  # wrong only
        """,
    "a backward may be given its weight": """
        for i, (x, y) in enumerate(loader):
            loss = criterion(model(x), y)
            loss.backward(gradient=torch.tensor(0.25))  # right only
            loss.backward()  # wrong only, GL203, GL301
            if (i + 1) % 4 == 0 or i + 1 == len(loader):  # right only
            if (i + 1) % 4 == 0:  # wrong only
                optimizer.step()
                optimizer.zero_grad()
        """,
    "data is cut to whole windows by a slice": """
        def fit(batches, n):
            usable = len(batches) // n * n
            for i, (x, y) in enumerate(batches[:usable]):  # right only
            for i, (x, y) in enumerate(batches):  # wrong only
                (criterion(model(x), y) / n).backward()  # GL203
                if (i + 1) % n == 0:
                    optimizer.step()
                    optimizer.zero_grad()
        """,
    "or by islice": """
        from itertools import islice

        def fit(batches, n):
            usable = len(batches) - len(batches) % n
            for i, (x, y) in enumerate(islice(batches, usable)):  # right only
            for i, (x, y) in enumerate(batches):  # wrong only
                (criterion(model(x), y) / n).backward()  # GL203
                if (i + 1) % n == 0:
                    optimizer.step()
                    optimizer.zero_grad()
        """,
    "whole windows are insisted on where their size is known": """
        size = 4
        assert len(loader) % size == 0  # right only
        for i, (x, y) in enumerate(loader):
            (criterion(model(x), y) / size).backward()  # GL203
            if (i + 1) % size == 0:
                optimizer.step()
                optimizer.zero_grad()
        """,
    "a counter that a function is given and gives back runs on from epoch to epoch": """
        def train_epoch(done=0):
            for x, y in loader:
                loss = criterion(model(x), y) / 4
                loss.backward()  # GL203
                done += 1
                if done >= 4:
                    done = 0
                    optimizer.step()
                    optimizer.zero_grad()
            return done

        done = 0
        for epoch in range(epochs):
            done = train_epoch(done)  # right only
            done = train_epoch()  # wrong only
        """,
    "windows that begin only where they end": """
        window = 4
        usable = len(loader) - len(loader) % window  # right only
        usable = len(loader) - 2  # wrong only
        for epoch in range(epochs):
            for i, (x, y) in enumerate(loader):
                if i < usable:
                    (criterion(model(x), y) / window).backward()  # GL203
                    if (i + 1) % window == 0:
                        optimizer.step()
                        optimizer.zero_grad()
        """,
    "so many windows, and no more": """
        import itertools

        def train(window, updates):
            for epoch in range(epochs):
                batches = itertools.islice(loader, updates * window)  # right only
                batches = itertools.islice(loader, updates + window)  # wrong only
                for i, (x, y) in enumerate(batches):
                    (criterion(model(x), y) / window).backward()  # GL203
                    if (i + 1) % window == 0:
                        optimizer.step()
                        optimizer.zero_grad()
        """,
    "a part of the data that fills its windows": """
        from torch.utils.data import TensorDataset, random_split

        data = TensorDataset(torch.randn(1000, 8), torch.zeros(1000).long())
        part, rest = random_split(data, [800, 200])  # right only
        part, rest = random_split(data, [790, 210])  # wrong only
        for epoch in range(epochs):
            for i, (x, y) in enumerate(DataLoader(part, batch_size=10)):
                (criterion(model(x), y) / 4).backward()  # GL203
                if (i + 1) % 4 == 0:
                    optimizer.step()
                    optimizer.zero_grad()
        """,
    "the last round of a range that begins with 1": """
        def main(loader, args):
            net = nn.Linear(4, 2)
            opt = torch.optim.SGD(net.parameters(), 0.1)
            for epoch in range(3):
                for step in range(1, args.steps + 1):
                    x, y = next(loader)
                    (F.cross_entropy(net(x), y) / args.accum).backward()  # GL203
                    if step % args.accum == 0 or step == args.steps:  # right only
                    if step % args.accum == 0:  # wrong only
                        opt.step()
                        opt.zero_grad()
        """,
    "the last slice of the data": """
        def main(inputs, labels, bs, k=4):
            net = nn.Linear(4, 2)
            opt = torch.optim.SGD(net.parameters(), 0.1)
            n = len(inputs)
            for epoch in range(3):
                for j, i in enumerate(range(0, n, bs)):
                    x, y = inputs[i:i + bs], labels[i:i + bs]
                    (F.cross_entropy(net(x), y, reduction='sum') / (bs * k)).backward()  # GL203
                    if (j + 1) % k == 0 or i + bs >= n:  # right only
                    if (j + 1) % k == 0:  # wrong only
                        opt.step()
                        opt.zero_grad()
        """,
    "the last round of a range that begins with 0, or a later one": """
        def main(loader, n, k=4):
            net = nn.Linear(4, 2)
            opt = torch.optim.SGD(net.parameters(), 0.1)
            for epoch in range(3):
                for step in range(0, n):
                    x, y = next(loader)
                    (F.cross_entropy(net(x), y) / k).backward()  # GL203
                    if (step + 1) % k == 0 or step + 1 >= n:  # right only
                    if (step + 1) % k == 0:  # wrong only
                        opt.step()
                        opt.zero_grad()
        """,
    "a method that says whether this is the last batch": """
        class Trainer:
            def __init__(self, net, loader, k):
                self.net, self.loader, self.k = net, loader, k
                self.opt = torch.optim.SGD(net.parameters(), 0.1)

            def is_last(self, i):
                return i == len(self.loader) - 1

            def fit(self):
                for epoch in range(3):
                    for i, (x, y) in enumerate(self.loader):
                        (F.cross_entropy(self.net(x), y) / self.k).backward()  # GL203
                        if (i + 1) % self.k == 0 or self.is_last(i):  # right only
                        if (i + 1) % self.k == 0:  # wrong only
                            self.opt.step()
                            self.opt.zero_grad()

        def main(loader, k=4):
            Trainer(nn.Linear(4, 2), loader, k).fit()
        """,
    "the batch that is the last of a list": """
        def main(loader, k=4):
            net = nn.Linear(4, 2)
            opt = torch.optim.SGD(net.parameters(), 0.1)
            batches = list(loader)
            for epoch in range(3):
                for i, batch in enumerate(batches):
                    x, y = batch
                    (F.cross_entropy(net(x), y) / k).backward()  # GL203
                    if (i + 1) % k == 0 or batch is batches[-1]:  # right only
                    if (i + 1) % k == 0:  # wrong only
                        opt.step()
                        opt.zero_grad()
        """,
    "a remainder that is insisted not to be there": """
        def main(loader, k=4):
            net = nn.Linear(4, 2)
            opt = torch.optim.SGD(net.parameters(), 0.1)
            assert not len(loader) % k, 'not whole'  # right only
            pass  # wrong only
            for epoch in range(3):
                for i, (x, y) in enumerate(loader):
                    (F.cross_entropy(net(x), y) / k).backward()  # GL203
                    if (i + 1) % k == 0:
                        opt.step()
                        opt.zero_grad()
        """,
    "a window that is all of the data": """
        def main(loader):
            net = nn.Linear(4, 2)
            opt = torch.optim.SGD(net.parameters(), 0.1)
            accum = len(loader)  # right only
            accum = 4  # wrong only
            for epoch in range(3):
                for i, (x, y) in enumerate(loader):
                    (F.cross_entropy(net(x), y) / accum).backward()  # GL203
                    if (i + 1) % accum == 0:
                        opt.step()
                        opt.zero_grad()
        """,
    "a window that is made smaller until it divides the data": """
        def main(loader, k=4):
            net = nn.Linear(4, 2)
            opt = torch.optim.SGD(net.parameters(), 0.1)
            while len(loader) % k:  # right only
            while False:  # wrong only
                k -= 1
            for epoch in range(3):
                for i, (x, y) in enumerate(loader):
                    (F.cross_entropy(net(x), y) / k).backward()  # GL203
                    if (i + 1) % k == 0:
                        opt.step()
                        opt.zero_grad()
        """,
}
