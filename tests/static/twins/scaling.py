"""The unit of scaled gradients: GL401 to GL405."""

from __future__ import annotations

TWINS = {
    "a scaler is updated at the end of each window": """
        scaler = torch.amp.GradScaler()
        optimizer.zero_grad()
        for i in range(400):
            x, y = draw()
            scaler.scale(criterion(model(x), y) / 4).backward()
            if (i + 1) % 4 == 0:
                scaler.step(optimizer)  # GL403
                scaler.update()  # right only
                optimizer.zero_grad()
        """,
    "a function computes a loss with a net that stands around it": """
        scaler = torch.amp.GradScaler()

        def penalty(x):
            return model(x).pow(2).mean()

        for x, y in loader:
            optimizer.zero_grad()
            scaler.scale(criterion(model(x), y)).backward()
            scaler.scale(penalty(x)).backward()  # right only
            penalty(x).backward()  # wrong only, GL404
            scaler.step(optimizer)
            scaler.update()
        """,
    "a class has a backward of its own, and a step": """
        class Engine:
            def __init__(self, net):
                self.net = net
                self.one = torch.optim.SGD(net.parameters(), lr=0.1)
                self.scaler = torch.amp.GradScaler()

            def backward(self, loss):
                self.scaler.scale(loss).backward()

            def step(self):
                self.scaler.step(self.one)  # right only
                self.one.step()  # wrong only, GL402
                self.scaler.update()
                self.one.zero_grad()

            def fit(self):
                for x, y in loader:
                    self.backward(criterion(self.net(x), y))
                    self.step()

        Engine(model).fit()
        """,
    "where there is no scale, nothing is unscaled": """
        def train(net, one, scaler, amp):
            for x, y in loader:
                one.zero_grad()
                loss = criterion(net(x), y)
                if amp:
                    scaler.scale(loss).backward()
                else:
                    loss.backward()
                if amp:
                    scaler.unscale_(one)
                    scaler.unscale_(one)  # wrong only, GL405
                torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
                if amp:
                    scaler.step(one)
                    scaler.update()
                else:
                    one.step()
        """,
    "a function that is not in sight may give no scaler": """
        from tools import make_scaler

        class Trainer:
            def __init__(self, net):
                self.net = net
                self.one = torch.optim.SGD(net.parameters(), lr=0.1)
                self.scaler = make_scaler(device)

            def train(self):
                for x, y in loader:
                    self.one.zero_grad()
                    loss = criterion(self.net(x), y)
                    if self.scaler is None:
                        loss.backward()
                    else:
                        self.scaler.scale(loss).backward()
                    if self.scaler is not None:
                        self.scaler.unscale_(self.one)
                        self.scaler.unscale_(self.one)  # wrong only, GL405
                    torch.nn.utils.clip_grad_norm_(self.net.parameters(), 1.0)
                    if self.scaler is None:
                        self.one.step()
                    else:
                        self.scaler.step(self.one)
                        self.scaler.update()
        """,
    "two methods ask the same of one object": """
        class Trainer:
            def __init__(self, net, config):
                self.net, self.n = net, config.n
                self.one = torch.optim.SGD(net.parameters(), lr=0.1)
                self.dtype = {"half": torch.float16}.get(config.dtype, torch.bfloat16)
                self.amp = config.dtype in ["half", "brain"]
                self.scaler = torch.amp.GradScaler()

            def deposit(self, x, y):
                loss = criterion(self.net(x), y) / self.n
                if self.amp and self.dtype == torch.float16:
                    self.scaler.scale(loss).backward()
                else:
                    loss.backward()

            def spend(self):
                if self.amp and self.dtype == torch.float16:  # right only
                if self.amp and self.n > 1:  # wrong only
                    self.scaler.step(self.one)
                    self.scaler.update()
                else:
                    self.one.step()  # GL402
                self.one.zero_grad()

            def fit(self, data):
                for x, y in data:
                    self.deposit(x, y)
                    self.spend()
        """,
    "an option enables the scaler and unscales": """
        from options import amp

        scaler = torch.amp.GradScaler("cuda", enabled=amp)
        for x, y in loader:
            optimizer.zero_grad()
            scaler.scale(criterion(model(x), y)).backward()
            if amp:  # right only
                scaler.unscale_(optimizer)  # right only
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)  # GL401
            scaler.step(optimizer)
            scaler.update()
        """,
    "whoever asks for autocast behind its block is told no": """
        scaler = torch.amp.GradScaler()
        for x, y in loader:
            optimizer.zero_grad()
            with torch.autocast("cuda"):
                loss = criterion(model(x), y)
            if torch.is_autocast_enabled():  # right only
            if device == "cuda":  # wrong only
                scaler.scale(loss).backward()
                nn.utils.clip_grad_norm_(model.parameters(), 1.0)  # GL401
                scaler.step(optimizer)
                scaler.update()
            else:
                loss.backward()
                optimizer.step()
        """,
    "the unit is known before anybody looks": """
        def train(net, spender):
            scaler = torch.amp.GradScaler("cpu")
            for x, y in loader:
                spender.zero_grad()
                scaler.scale(criterion(net(x), y)).backward()
                scaler.unscale_(spender)  # right only
                print(net.weight.grad.norm())  # GL401
                scaler.step(spender)
                scaler.update()
        """,
    "whether a norm is finite is the same in any unit": """
        scaler = torch.amp.GradScaler("cpu")
        for x, y in loader:
            optimizer.zero_grad()
            scaler.scale(criterion(model(x), y)).backward()
            for p in model.parameters():
                print(torch.isfinite(p.grad.norm()))  # right only
                print(p.grad.norm())  # wrong only, GL401
            scaler.step(optimizer)
            scaler.update()
        """,
    "gradients that are unscaled by hand": """
        scaler = torch.amp.GradScaler("cpu")
        for x, y in loader:
            optimizer.zero_grad()
            scaler.scale(criterion(model(x), y)).backward()
            for p in model.parameters():  # right only
                p.grad /= scaler.get_scale()  # right only
            optimizer.step()  # GL402
        """,
    "an unscale behind `and`": """
        def main(loader, k=4):
            net = nn.Linear(4, 2)
            opt = torch.optim.SGD(net.parameters(), 0.1)
            scaler = torch.amp.GradScaler('cuda')
            for x, y in loader:
                with torch.autocast('cuda'):
                    loss = F.cross_entropy(net(x), y)
                scaler.scale(loss).backward()
                scaler.is_enabled() and scaler.unscale_(opt)  # right only
                scaler.unscale_(opt)  # wrong only
                scaler.unscale_(opt)  # wrong only, GL405
                nn.utils.clip_grad_norm_(net.parameters(), 1.0)
                scaler.step(opt)
                scaler.update()
                opt.zero_grad()
        """,
    "a norm that a helper takes, in the unit of the loss": """
        def grad_norm(net):
            return torch.stack([p.grad.detach().norm() for p in net.parameters()]).norm()  # GL401

        def main(loader, k=4):
            net = nn.Linear(4, 2)
            opt = torch.optim.SGD(net.parameters(), 0.1)
            scaler = torch.amp.GradScaler('cuda')
            for i, (x, y) in enumerate(loader):
                with torch.autocast('cuda'):
                    loss = F.cross_entropy(net(x), y)
                scaler.scale(loss).backward()
                if i % 50 == 0:
                    print(grad_norm(net) / scaler.get_scale())  # right only
                    print(grad_norm(net))  # wrong only
                scaler.step(opt)
                scaler.update()
                opt.zero_grad()
        """,
    "each round steps another optimizer, looked up by a key": """
        class Engine:
            def __init__(self, views, critics, optims, scaler):
                self.views = views
                self.critics = critics
                self.optims = optims
                self.scaler = scaler

            def update(self, batches):
                for view in self.views:
                    one = self.optims[str(view)]  # right only
                    one = self.optims["all"]  # wrong only
                    one.zero_grad()
                    loss = self.critics[str(view)](batches[view]).mean()
                    self.scaler.scale(loss).backward()
                    self.scaler.step(one)  # GL403
                self.scaler.update()
        """,
    "each round steps another optimizer, right where it is looked up": """
        def update(views, critics, optims, scaler, stream):
            for batches in stream:
                for view in views:
                    optims[f"of_{view}"].zero_grad()
                    scaler.scale(critics[view](batches[view]).mean()).backward()
                    scaler.step(optims[f"of_{view}"])  # GL403
                scaler.update()  # right only
        """,
    "a method steps the optimizer that it is told": """
        class Engine:
            def __init__(self, views, critics, optims, scaler):
                self.views = views
                self.critics = critics
                self.optims = optims
                self.scaler = scaler

            def learn(self, view, batch):
                one = self.optims[str(view)]  # right only
                one = self.optims["all"]  # wrong only
                one.zero_grad()
                self.scaler.scale(self.critics[str(view)](batch).mean()).backward()
                self.scaler.step(one)  # GL403

            def update(self, batches):
                for view in self.views:
                    self.learn(view, batches[view])
                self.scaler.update()
        """,
    "each optimizer is stepped once before the update": """
        def update(nets, optims, scaler, stream):
            for batch in stream:
                for one in optims:
                    one.zero_grad()
                scaler.scale(sum(net(batch).mean() for net in nets)).backward()
                for one in optims:
                    scaler.step(one)  # GL403
                scaler.update()  # right only
        """,
    "one loss feeds a net and an optimizer that has a part of it": """
        from nets import make

        scaler = torch.amp.GradScaler()
        net = make()
        of_part = torch.optim.SGD(net.head.parameters(), lr=0.1)
        one = torch.optim.SGD(net.parameters(), lr=0.1)
        for x, y in loader:
            one.zero_grad()
            scaler.scale(criterion(net(x), y)).backward()
            scaler.step(of_part)
            scaler.update()  # wrong only, GL404
            scaler.step(one)
            scaler.update()
        """,
    "torch's norm of gradients in the unit of the loss": """
        scaler = torch.amp.GradScaler("cpu")
        for x, y in loader:
            optimizer.zero_grad()
            scaler.scale(criterion(model(x), y)).backward()
            scaler.unscale_(optimizer)  # right only
            for p in model.parameters():
                print(torch.linalg.norm(p.grad))  # GL401
                print(torch.norm(p))
            scaler.step(optimizer)
            scaler.update()
        """,
    "a gradient that is divided by its norm is a direction, in any unit": """
        scaler = torch.amp.GradScaler("cpu")

        def climb(net):
            for p in net.parameters():
                norm = torch.norm(p.grad)  # GL401
                if norm != 0:
                    way = 0.5 * p.grad / (norm + 1e-6)  # right only
                    way = 0.5 * norm  # wrong only
                    p.data.add_(way)

        for x, y in loader:
            optimizer.zero_grad()
            scaler.scale(criterion(model(x), y)).backward()
            if device == "cuda":
                climb(model)
            scaler.step(optimizer)
            scaler.update()
        """,
    "apex puts the gradients of a window aside while it unscales": """
        from apex import amp

        model, optimizer = amp.initialize(model, optimizer)
        for i, (x, y) in enumerate(loader):
            with amp.scale_loss(criterion(model(x), y) / 2, optimizer) as scaled:
                scaled.backward()
            nn.utils.clip_grad_norm_(amp.master_params(optimizer), 1.0)  # wrong only, GL502
            if (i + 1) % 2 == 0 or i + 1 == len(loader):
                nn.utils.clip_grad_norm_(amp.master_params(optimizer), 1.0)  # right only
                optimizer.step()
                optimizer.zero_grad()
        """,
    "apex unscales a window at its end": """
        from apex import amp

        model, optimizer = amp.initialize(model, optimizer)
        for x, y in loader:
            loss = criterion(model(x), y) / 2
            with amp.scale_loss(loss, optimizer, delay_unscale=True) as scaled:
                scaled.backward()
            with amp.scale_loss(criterion(model(-x), y) / 2, optimizer) as scaled:
                scaled.backward()
                nn.utils.clip_grad_norm_(model.parameters(), 1.0)  # wrong only, GL401
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)  # right only
            optimizer.step()
            optimizer.zero_grad()
        """,
}
