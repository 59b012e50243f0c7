"""Gradients that are spent a second time, or by another: GL101, GL102."""

from __future__ import annotations

TWINS = {
    "a window of a net whose loss leaks into another is its own": """
        left, right = nn.Linear(8, 8), nn.Linear(8, 1)
        ours, theirs = torch.optim.Adam(left.parameters()), torch.optim.Adam(right.parameters())
        for i, (x, y) in enumerate(loader):
            ((right(left(x).detach()) - right(y)).mean() / 4).backward()
            if (i + 1) % 4 == 0:
                theirs.step()  # GL102
                theirs.zero_grad()
            right.requires_grad_(False)  # right only
            (-right(left(x)).mean() / 4).backward()
            right.requires_grad_(True)  # right only
            if (i + 1) % 4 == 0:
                ours.step()
                ours.zero_grad()
        """,
    "a step for each of two losses": """
        for x, y in loader:
            optimizer.zero_grad()
            criterion(model(x), y).backward()
            optimizer.step()
            optimizer.zero_grad()  # right only
            model(x).pow(2).mean().backward()
            optimizer.step()  # GL101
        """,
    "gradients that are clamped are the fresh ones, and the old ones below them": """
        for x, y in loader:
            optimizer.zero_grad()  # right only
            criterion(model(x), y).backward()
            for p in model.parameters():
                p.grad.data.clamp_(-1, 1)
            optimizer.step()  # GL101
        """,
    "one step is enough for each backward": """
        other = nn.Linear(8, 3)
        another = torch.optim.SGD(other.parameters(), lr=0.1)
        for x, y in loader:
            optimizer.zero_grad()
            criterion(model(x), y).backward()
            optimizer.step()
            another.zero_grad()
            criterion(other(x), y).backward()
            another.step()
            optimizer.step()  # wrong only, GL101
        """,
    "one of two ways to step is taken": """
        amp = device == "cuda"
        scaler = torch.amp.GradScaler(enabled=amp)
        for x, y in loader:
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            if amp:
                scaler.scale(loss).backward()
                scaler.step(optimizer)
                scaler.update()
            else:
                loss.backward()
                optimizer.step()
                optimizer.step()  # wrong only, GL101
        """,
    "a net is cleared with the one that holds it, and not with the one beside it": """
        class Painter(nn.Module):
            def __init__(self, texture):
                super().__init__()
                self.texture = texture
                self.layer = nn.Linear(8, 8)

            def forward(self, x):
                return self.layer(x)

        def train(loader):
            texture, critic = nn.Linear(8, 8), nn.Linear(8, 1)
            painter = Painter(texture)  # right only
            painter = Painter(None)  # wrong only
            both = list(painter.parameters()) + list(texture.parameters())  # wrong only
            both = painter.parameters()  # right only
            paints = torch.optim.Adam(both)
            judges = torch.optim.Adam(critic.parameters())
            for x, real in loader:
                judged = critic(painter(texture(x)).detach()).mean() - critic(real).mean()
                critic.zero_grad()
                judged.backward()
                judges.step()
                for p in critic.parameters():
                    p.requires_grad = False
                painter.zero_grad()
                (-critic(painter(texture(x))).mean()).backward()
                paints.step()  # GL101
                for p in critic.parameters():
                    p.requires_grad = True
        """,
    "what `__init__` leaves None, another method may set": """
        class Trainer:
            def __init__(self):
                self.net = None
                self.opt = None
                self.best = None

            def set_up(self):
                self.net = nn.Linear(8, 3)
                self.opt = torch.optim.Adam(self.net.parameters())

            def train_epoch(self, loader):
                if self.net is None or self.opt is None:
                    raise RuntimeError("call set_up() first")
                for x, y in loader:
                    loss = criterion(self.net(x), y)
                    self.opt.zero_grad()  # right only
                    loss.backward()
                    self.opt.step()  # GL101
                if self.best is None:
                    self.best = loss.item()
        """,
    "who wraps an optimizer steps and clears for it": """
        from apex.parallel.LARC import LARC
        net = nn.Linear(8, 3)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        opt = LARC(opt, trust_coefficient=0.001)
        net = nn.parallel.DistributedDataParallel(net)
        for epoch in range(epochs):
            for x, y in loader:
                opt.zero_grad()  # right only
                criterion(net(x), y).backward()
                opt.step()  # GL101
        """,
    "what is changed in place keeps its gradient": """
        def weigh(features, rounds):
            weight = torch.full([len(features)], 1 / len(features), requires_grad=True)
            for _ in range(rounds):
                (weight @ features).pow(2).sum().backward()
                with torch.no_grad():
                    weight -= 0.1 * weight.grad  # GL101
                    weight /= weight.sum()
                    weight.grad.zero_()  # right only
            return weight.detach()
        """,
    "a model may be cleared part by part": """
        import models
        net = getattr(models, "Gan")()
        one = torch.optim.Adam(net.parameters())
        for x, y in loader:
            net.critic.zero_grad()
            criterion(net(x), y).backward()
            net.author.zero_grad()  # right only
            one.step()  # GL101
            (-criterion(net(x), y)).backward()
            net.critic.zero_grad()
            one.step()  # GL101
        """,
    "what a model is given is cleared with it": """
        import zoo
        net = zoo.make()
        head = nn.Linear(8, 3)
        net.head = head
        groups = [{"params": net.body.parameters()}, {"params": head.parameters()}]
        one = torch.optim.SGD(groups, lr=0.1)
        for x, y in loader:
            net.zero_grad()  # right only
            net.body.zero_grad()  # wrong only
            criterion(net(x), y).backward()
            one.step()  # GL101
        """,
    "a step that is taken back leaves its gradients to the next": """
        for x, y in loader:
            before = model.state_dict()
            optimizer.zero_grad()
            criterion(model(x), y).backward()
            optimizer.step()
            ahead = model(x).detach()
            model.load_state_dict(before)  # right only
            (model(x) - ahead).pow(2).mean().backward()
            optimizer.step()  # GL101
        """,
    "an optimizer of one's own spends, however it does it": """
        class Own(torch.optim.Optimizer):
            def __init__(self, params):
                super().__init__(params, {})

            @torch.no_grad()
            def step(self, closure=None):
                for group in self.param_groups:
                    for p in group["params"]:
                        momentum = self.state[p]["momentum"]
                        momentum.mul_(0.9).add_(p.grad)
                        p.add_(momentum, alpha=-0.1)

        net = nn.Linear(8, 3)
        one = Own(net.parameters())
        for x, y in loader:
            one.zero_grad()  # right only
            criterion(net(x), y).backward()
            one.step()  # GL101
        """,
    "a function that is called again makes another optimizer": """
        from losses import energy

        def paint(image):
            picture = image.clone()
            picture.requires_grad_()
            one = torch.optim.Adam([picture], lr=3.0)
            for t in range(200):
                one.zero_grad()  # right only
                energy().backward()
                if t == 180:
                    one = torch.optim.Adam([picture], lr=0.1)
                one.step()  # GL101

        paint(dataset[0])
        paint(dataset[1])
        """,
    "a function is not None": """
        net = nn.Linear(8, 3)
        one = torch.optim.SGD(net.parameters(), lr=0.1)

        def step(opt, closure):
            if closure is None:
                opt.step()  # GL101
            else:
                opt.step(closure)

        for x, y in loader:
            def closure():
                one.zero_grad()
                loss = criterion(net(x), y)
                loss.backward()
                return loss

            step(one, closure)  # right only
            criterion(net(x), y).backward()  # wrong only
            step(one, None)  # wrong only
        """,
    "optimizers that stand in one of two lists step once": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.body, self.head = nn.Linear(8, 8), nn.Linear(8, 3)

            def two(self):
                optimizers = []
                optimizers.append(torch.optim.SGD([p for p in self.parameters() if p.dim() > 1]))
                optimizers.append(torch.optim.Adam([p for p in self.parameters() if p.dim() < 2]))
                return optimizers

        def fit(data, both):
            net = Net()
            if both:
                optimizers = net.two()
            else:
                optimizers = [torch.optim.Adam(net.parameters())]
            for x, y in data:
                criterion(net(x), y).backward()
                for one in optimizers:
                    one.step()  # GL101
                for one in optimizers:  # right only
                    one.zero_grad()  # right only
        """,
    "a clear of what came out of sight is a clear": """
        from somewhere import resumed

        author, critic = nn.Linear(8, 8), nn.Linear(8, 1)
        ours = torch.optim.Adam(author.parameters())
        theirs = torch.optim.Adam(critic.parameters())
        if resume:
            author, ours = resumed(author, ours)
            critic, theirs = resumed(critic, theirs)
        for x, y in loader:
            author.zero_grad()
            F.l1_loss(author(x), x).backward()
            ours.step()
            critic.zero_grad()  # right only
            critic(author(x).detach()).mean().backward()
            theirs.step()  # GL101
        """,
    "all optimizers of a dict are cleared, one by one": """
        def fit(nets, data):
            optimizers = {k: torch.optim.Adam(net.parameters()) for k, net in nets.items()}
            for x, y in data:
                for k in optimizers:  # right only
                    optimizers[k].zero_grad()  # right only
                criterion(nets["head"](nets["body"](x)), y).backward()
                for k in optimizers:
                    optimizers[k].step()  # GL101
        """,
    "a model that clears itself when it is called is cleared": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.line = nn.Linear(8, 3)

            def forward(self, x, y):
                self.zero_grad()  # right only
                return criterion(self.line(x), y)

        net = Net()
        one = torch.optim.SGD(net.parameters(), lr=0.1)
        for x, y in loader:
            net(x, y).backward()
            one.step()  # GL101
        """,
    "who counts on asks for the first micro-batch and for the last": """
        count = 0
        for epoch in range(epochs):
            for x, y in loader:
                if count % 4 == 0:  # right only
                    optimizer.zero_grad()  # right only
                (criterion(model(x), y) / 4).backward()
                if (count + 1) % 4 == 0:
                    optimizer.step()  # GL101
                count += 1
        """,
    "another net in each round has no gradients yet": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = nn.Linear(8, 3)

            def forward(self, x):
                return self.layer(x)

        for seed in range(3):
            torch.manual_seed(seed)
            net = Net()  # right only
            net = net if seed else Net()  # wrong only
            spender = torch.optim.SGD(net.parameters(), lr=0.1)
            criterion(net(dataset.x), dataset.y).backward()
            spender.step()  # GL101
        """,
    "what a function makes of numbers is a net if it is cleared like one": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = nn.Linear(8, 3)

            def forward(self, x):
                return self.layer(x)

        def build(width):
            if width > 3:
                return Net()
            net = Net()
            return net

        def fit(width):
            net = build(width)
            optimizers = net.own_optimizers()
            net.zero_grad()
            for x, y in loader:
                criterion(net(x), y).backward()
                for one in optimizers:
                    one.step()  # GL101
                net.zero_grad()  # right only

        fit(4)
        """,
    "of several results, each is made of some of what was given": """
        left, right = nn.Linear(8, 3), nn.Linear(8, 3)
        ours, theirs = torch.optim.Adam(left.parameters()), torch.optim.Adam(right.parameters())

        def means(first, second):
            return first.mean(), second.mean()

        for x, y in loader:
            one, other = means(left(x), right(x))  # right only
            one = other = left(x).mean() + right(x).mean()  # wrong only
            one.backward(retain_graph=True)
            ours.step()  # GL102
            ours.zero_grad()
            other.backward()
            theirs.step()  # GL102
            theirs.zero_grad()
        """,
    "a helper may compute without gradients": """
        left, right = nn.Linear(8, 3), nn.Linear(8, 3)
        ours, theirs = torch.optim.Adam(left.parameters()), torch.optim.Adam(right.parameters())

        def target(out):
            with torch.no_grad():  # right only
                return out.softmax(1)  # right only
            return out.softmax(1)  # wrong only

        for x, y in loader:
            (right(x) - target(left(x))).mean().backward()
            theirs.step()
            theirs.zero_grad()
            left(x).mean().backward()
            ours.step()  # GL102
            ours.zero_grad()
        """,
    "a decorator takes gradients away": """
        left, right = nn.Linear(8, 3), nn.Linear(8, 3)
        ours, theirs = torch.optim.Adam(left.parameters()), torch.optim.Adam(right.parameters())

        @torch.no_grad()  # right only
        def target(out):
            return out.softmax(1)

        for x, y in loader:
            (right(x) - target(left(x))).mean().backward()
            theirs.step()
            theirs.zero_grad()
            left(x).mean().backward()
            ours.step()  # GL102
            ours.zero_grad()
        """,
    "what is drawn has no graph": """
        left, right = nn.Linear(8, 3), nn.Linear(8, 3)
        ours, theirs = torch.optim.Adam(left.parameters()), torch.optim.Adam(right.parameters())

        for x, y in loader:
            drawn = torch.distributions.Categorical(logits=left(x)).sample()  # right only
            drawn = left(x).exp()  # wrong only
            (right(x) * drawn).mean().backward()
            theirs.step()
            theirs.zero_grad()
            left(x).mean().backward()
            ours.step()  # GL102
            ours.zero_grad()
        """,
    "the second of what a search gives are places": """
        left, right = nn.Linear(8, 3), nn.Linear(8, 3)
        ours, theirs = torch.optim.Adam(left.parameters()), torch.optim.Adam(right.parameters())

        for x, y in loader:
            place = torch.max(left(x), 1)[1]  # right only
            place = torch.max(left(x), 1)[0]  # wrong only
            (right(x) * place).mean().backward()
            theirs.step()
            theirs.zero_grad()
            left(x).mean().backward()
            ours.step()  # GL102
            ours.zero_grad()
        """,
    "an optimizer that tells its closure what to do may do the rest itself": """
        for x, y in loader:
            def closure(walk=True):  # right only
            def closure():  # wrong only
                loss = criterion(model(x), y)
                loss.backward()
                return loss

            optimizer.step(closure)  # GL101
        """,
    "a phase that switches gradients off leaves them on for the other": """
        for phase in ("train", "test"):
            if phase == "train":
                torch.set_grad_enabled(True)
            else:
                torch.set_grad_enabled(False)
            for x, y in loader:
                optimizer.zero_grad()  # right only
                loss = criterion(model(x), y)
                if phase == "train":
                    loss.backward()
                    optimizer.step()  # GL101
        """,
    "gradients of a distributed pass lie in its context": """
        import torch.distributed.autograd as dist_autograd
        from torch.distributed.optim import DistributedOptimizer

        for x, y in loader:
            with dist_autograd.context():
                loss = criterion(model(x), y)
                dist_autograd.backward([loss])  # right only
                torch.autograd.backward([loss])  # wrong only
                optimizer.step()  # GL101
        """,
    "a clear that goes by another name": """
        clear = optimizer.zero_grad  # right only
        clear = print  # wrong only
        for x, y in loader:
            clear()
            criterion(model(x), y).backward()
            optimizer.step()  # GL101
        """,
    "a hook behind each step may clear": """
        from elsewhere import hook

        optimizer.register_step_post_hook(hook)  # right only
        optimizer.register_step_pre_hook(hook)  # wrong only
        for x, y in loader:
            criterion(model(x), y).backward()
            optimizer.step()  # GL101
        """,
    "a flag that is down from the second round on": """
        def main(loader, k=4):
            net = nn.Linear(4, 2)
            opt = torch.optim.SGD(net.parameters(), 0.1)
            first = True
            for x, y in loader:
                if not first:
                    opt.zero_grad()
                first = False  # right only
                pass  # wrong only
                F.cross_entropy(net(x), y).backward()
                opt.step()  # GL101
        """,
    "zeros that are written into a whole gradient": """
        def main(loader, k=4):
            net = nn.Linear(4, 2)
            opt = torch.optim.SGD(net.parameters(), 0.1)
            for x, y in loader:
                for p in net.parameters():
                    if p.grad is not None:
                        p.grad[:] = 0  # right only
                        pass  # wrong only
                F.cross_entropy(net(x), y).backward()
                opt.step()  # GL101
        """,
    "zeros that take the place of a gradient's data": """
        def main(loader, k=4):
            net = nn.Linear(4, 2)
            opt = torch.optim.SGD(net.parameters(), 0.1)
            for x, y in loader:
                for p in net.parameters():
                    if p.grad is not None:
                        p.grad.data = torch.zeros_like(p.grad)  # right only
                        pass  # wrong only
                F.cross_entropy(net(x), y).backward()
                opt.step()  # GL101
        """,
    "a gradient that is filled by a function": """
        def main(loader, k=4):
            net = nn.Linear(4, 2)
            opt = torch.optim.SGD(net.parameters(), 0.1)
            for x, y in loader:
                for p in net.parameters():
                    if p.grad is not None:
                        nn.init.zeros_(p.grad)  # right only
                        pass  # wrong only
                F.cross_entropy(net(x), y).backward()
                opt.step()  # GL101
        """,
    "a gradient that is deleted by its name": """
        def main(loader, k=4):
            net = nn.Linear(4, 2)
            opt = torch.optim.SGD(net.parameters(), 0.1)
            for x, y in loader:
                for p in net.parameters():
                    if p.grad is not None:
                        delattr(p, 'grad')  # right only
                        pass  # wrong only
                F.cross_entropy(net(x), y).backward()
                opt.step()  # GL101
        """,
    "gradients that are cleared out of a list": """
        def main(loader, k=4):
            net = nn.Linear(4, 2)
            opt = torch.optim.SGD(net.parameters(), 0.1)
            for x, y in loader:
                F.cross_entropy(net(x), y).backward()
                opt.step()  # GL101
                grads = [p.grad for p in net.parameters() if p.grad is not None]
                for g in grads:
                    g.zero_()  # right only
                    pass  # wrong only
        """,
    "nobody clears, and each round steps another optimizer of a dict": """
        def update(kinds, nets, optims, stream):
            for batches in stream:
                for kind in kinds:
                    one = optims[f"{kind}_net"]
                    one.zero_grad()  # right only
                    nets[kind](batches[kind]).mean().backward()
                    one.step()  # GL101
        """,
    "the last of a few turns steps": """
        for x, y in loader:
            optimizer.zero_grad()
            for turn in range(3):
                criterion(model(x[turn]), y[turn]).div(3).backward()
                if turn == 2:  # right only
                if turn != 0:  # wrong only
                    optimizer.step()  # GL101
        """,
    "a schedule's optimizer clears and steps as under its own name": """
        schedule = torch.optim.lr_scheduler.StepLR(optimizer, 10)
        for epoch in range(epochs):
            for x, y in loader:
                schedule.optimizer.zero_grad()  # right only
                criterion(model(x), y).backward()
                for group in schedule.optimizer.param_groups:
                    print(group["lr"])
                schedule.optimizer.step()  # GL101
            schedule.step()
        """,
}
