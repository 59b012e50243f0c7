"""What the ranks share: GL801, GL802."""

from __future__ import annotations

TWINS = {
    "syncs that a condition holds back are held back by the forward": """
        from contextlib import nullcontext

        def fit(data, n):
            net = nn.parallel.DistributedDataParallel(nn.Linear(8, 3))
            one = torch.optim.SGD(net.parameters(), lr=0.1)
            for i, (x, y) in enumerate(data):
                last = (i + 1) % n == 0 or i + 1 == len(data)
                context = net.no_sync() if not last else nullcontext()
                with context:  # right only
                    loss = criterion(net(x), y) / n  # right only
                loss = criterion(net(x), y) / n  # wrong only
                with context:
                    loss.backward()  # GL802
                if last:
                    one.step()
                    one.zero_grad()
        """,
    "who says when a second loss comes in has no window": """
        def fit(data, ranks):
            author, critic = nn.Linear(8, 8), nn.Linear(8, 1)
            if ranks:
                author = nn.parallel.DistributedDataParallel(author)
                critic = nn.parallel.DistributedDataParallel(critic)
            ours = torch.optim.Adam(author.parameters())
            theirs = torch.optim.Adam(critic.parameters())
            for epoch in range(10):
                for x in data:
                    made = author(x)
                    loss = F.l1_loss(made, x)
                    if epoch > 5:
                        loss = loss - critic(made).mean()
                    loss.backward()  # GL802
                    ours.step()  # right only
                    ours.zero_grad()  # right only
                    if epoch > 5:  # right only
                        theirs.zero_grad()  # right only
                        (critic(made.detach()).mean() - critic(x).mean()).backward()  # right only
                        theirs.step()  # right only
                ours.step()  # wrong only
                ours.zero_grad()  # wrong only
        """,
    "what an object has wrapped for itself has ranks": """
        class Trainer:
            def __init__(self, net):
                self.net = nn.parallel.DistributedDataParallel(net)
                self.one = torch.optim.SGD(self.net.parameters(), lr=0.1)

            def loss(self, x, y):
                return F.cross_entropy(self.net(x), y)

            def train(self):
                for i, (x, y) in enumerate(loader):
                    last = (i + 1) % 4 == 0 or i + 1 == len(loader)
                    (self.loss(x, y) / 4).backward()  # GL802
                    self.one.step()  # right only
                    self.one.zero_grad()  # right only
                    if last:  # wrong only
                        self.one.step()  # wrong only
                        self.one.zero_grad()  # wrong only

        Trainer(nn.Linear(8, 3)).train()
        """,
    "the forward decides whether ranks average": """
        net = nn.parallel.DistributedDataParallel(nn.Linear(8, 3))
        one = torch.optim.SGD(net.parameters(), lr=0.1)
        for x, y in loader:
            one.zero_grad()
            with net.no_sync():
                first = net(x)
            loss = criterion(net(x), y) + first.mean()  # right only
            loss = criterion(first, y)  # wrong only
            loss.backward()
            one.step()  # GL801
        """,
    "a manager of the project's own may hold back syncs": """
        from contextlib import contextmanager

        @contextmanager
        def last_alone(module, last):
            if last:
                yield
            else:
                with module.no_sync():  # right only
                    yield  # right only
                yield  # wrong only

        net = nn.parallel.DistributedDataParallel(nn.Linear(8, 3))
        one = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(100):
            one.zero_grad()
            for i in range(4):
                x, y = next(data)
                with last_alone(net, i == 3):
                    (criterion(net(x), y) / 4).backward()  # GL802
            one.step()
        """,
    "whose syncs are held back has ranks, whatever else is known of it": """
        def fit(net, data):
            ranks = nn.parallel.DistributedDataParallel(net)
            one = torch.optim.SGD(ranks.parameters(), lr=0.1)
            for step in range(100):
                one.zero_grad()
                for i in range(4):
                    x, y = next(data)
                    if i == 3:  # right only
                        (criterion(ranks(x), y) / 4).backward()  # right only
                    else:  # right only
                        with ranks.no_sync():  # right only
                            (criterion(ranks(x), y) / 4).backward()  # right only
                    with ranks.no_sync():  # wrong only
                        (criterion(ranks(x), y) / 4).backward()  # wrong only
                one.step()  # GL801
        """,
    "a net of many ranks is one": """
        from torch.nn.parallel import DistributedDataParallel as DDP

        net = DDP(nn.Linear(8, 3))
        one = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(100):
            one.zero_grad()
            for i in range(pieces):
                x, y = next(data)
                if i < pieces - 1 and isinstance(net, DDP):  # right only
                    with net.no_sync():  # right only
                        (criterion(net(x), y) / pieces).backward()  # right only
                else:  # right only
                    (criterion(net(x), y) / pieces).backward()  # right only
                (criterion(net(x), y) / pieces).backward()  # wrong only, GL802
            one.step()
        """,
    "who knows how to hold back syncs may do it": """
        from torch.nn.parallel import DistributedDataParallel as DDP

        net = DDP(nn.Linear(8, 3))
        one = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(100):
            one.zero_grad()
            for i in range(4):
                x, y = next(data)
                net.require_backward_grad_sync = i == 3  # right only
                (criterion(net(x), y) / 4).backward()  # GL802
            one.step()
        """,
    "the last micro-batch of a window may be averaged": """
        def fit(net, data, window):
            ranks = nn.parallel.DistributedDataParallel(net)
            one = torch.optim.SGD(ranks.parameters(), lr=0.1)
            with ranks.no_sync():
                criterion(ranks(data[0]), data[1]).backward()
            criterion(ranks(data[2]), data[3]).backward()  # right only
            one.step()  # GL801
        """,
    "ranks that average by hand": """
        import torch.distributed as dist
        from torch.nn.parallel import DistributedDataParallel

        net = DistributedDataParallel(model)
        for x, y in loader:
            optimizer.zero_grad()
            with net.no_sync():
                criterion(net(x), y).backward()
            for p in net.parameters():
                dist.all_reduce(p.grad)  # right only
                print(p.shape)
            optimizer.step()  # GL801
        """,
    "syncs are held back until the last of a window, and not for it": """
        from contextlib import nullcontext

        class Trainer:
            def __init__(self, net, n=4):
                self.net = nn.parallel.DistributedDataParallel(net)
                self.one = torch.optim.SGD(self.net.parameters(), lr=0.1)
                self.n = n

            def train(self):
                for i, (x, y) in enumerate(loader):
                    last = (i + 1) % self.n == 0 or i + 1 == len(loader)
                    context = nullcontext() if last else self.net.no_sync()  # right only
                    context = self.net.no_sync() if last else nullcontext()  # wrong only
                    with context:
                        loss = F.cross_entropy(self.net(x), y) / self.n
                        loss.backward()
                    if last:
                        self.one.step()  # GL801
                        self.one.zero_grad()

        Trainer(nn.Linear(8, 3)).train()
        """,
    "what holds back syncs may be chosen first and called later": """
        from contextlib import nullcontext

        net = nn.parallel.DistributedDataParallel(nn.Linear(8, 3))
        one = torch.optim.SGD(net.parameters(), lr=0.1)
        for i in range(400):
            x, y = next(batches)
            going_on = (i + 1) % 4 != 0
            context = net.no_sync if going_on else nullcontext  # right only
            context = nullcontext if going_on else net.no_sync  # wrong only
            with context():
                (criterion(net(x), y) / 4).backward()
            if not going_on:
                one.step()  # GL801
                one.zero_grad()
        """,
    "who has no ranks holds nothing back": """
        from contextlib import nullcontext

        def fit(ranks):
            net = nn.parallel.DistributedDataParallel(nn.Linear(8, 3))
            one = torch.optim.SGD(net.parameters(), lr=0.1)
            for step in range(100):
                for i in range(4):
                    x, y = next(batches)
                    last = i == 4 - 1
                    held = ranks > 1 and not last  # right only
                    held = ranks > 1 and last  # wrong only
                    with net.no_sync() if held else nullcontext():
                        loss = criterion(net(x), y) / 4
                        loss.backward()
                one.step()  # GL801
                one.zero_grad()
        """,
    "a flag that tells the last micro-batch of a window, and not the one behind it": """
        net = nn.parallel.DistributedDataParallel(nn.Linear(8, 3))
        one = torch.optim.SGD(net.parameters(), lr=0.1)
        parts = 4
        for step in range(100):
            for i in range(parts):
                net.require_backward_grad_sync = i == parts - 1  # right only
                net.require_backward_grad_sync = i == parts  # wrong only
                x, y = next(batches)
                (criterion(net(x), y) / parts).backward()
            one.step()  # GL801
            one.zero_grad()
        """,
    "a function gives a net of many ranks": """
        from torch import distributed

        def start(net):
            distributed.init_process_group("gloo")
            return net  # right only
            return nn.parallel.DistributedDataParallel(net)  # wrong only

        net = start(nn.Linear(8, 3))
        one = torch.optim.SGD(net.parameters(), lr=0.1)
        taken = 0
        while taken < 120:
            x, y = next(batches)
            (criterion(net(x), y) / 3).backward()  # GL802
            taken += 1
            if taken % 3 == 0:
                one.step()
                one.zero_grad()
        """,
}
