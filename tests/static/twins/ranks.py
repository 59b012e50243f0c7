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
}
