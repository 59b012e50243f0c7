"""Gradients that are cleared unspent, and steps that find none: GL201, GL202."""

from __future__ import annotations

TWINS = {
    "a loop that computes a loss, clears and steps, and never walks back": """
        for x, y in loader:
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()  # right only
            optimizer.step()  # GL202
            print(loss.item())
        """,
    "a function that never walks back, and another that makes all that it uses": """
        def train(net, data, adam, loss_fn):
            for x, y in data:
                adam.zero_grad()
                loss = loss_fn(net(x), y)
                loss.backward()  # right only
                adam.step()  # GL202

        def main():
            net = nn.Linear(8, 3)
            adam = torch.optim.Adam(net.parameters())
            for _ in range(3):
                train(net, loader, adam, nn.CrossEntropyLoss())

        main()
        """,
    "who shows what a schedule does steps on nothing": """
        schedule = torch.optim.lr_scheduler.StepLR(optimizer, 10)
        for epoch in range(100):
            optimizer.zero_grad()
            loss = model(torch.randn(8)).sum()  # wrong only
            optimizer.step()  # wrong only, GL202
            optimizer.step()  # right only
            schedule.step()
        """,
    "a loss in the hands of others may have been walked back": """
        from others import learn

        for x, y in loader:
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            learn(loss)  # right only
            optimizer.step()  # GL202
        """,
    "a net in the hands of others may have its gradients from there": """
        from others import fill

        for x, y in loader:
            optimizer.zero_grad()
            out = model(x)
            fill(model, x, y)  # right only
            optimizer.step()  # GL202
        """,
    "an optimizer of a list that a comprehension makes is picked by its number": """
        class Team:
            def __init__(self, n):
                self.n = n
                self.actors = [nn.Linear(8, 3) for _ in range(n)]
                self.critic = nn.Linear(8, 1)
                self.opts = [torch.optim.Adam(actor.parameters()) for actor in self.actors]
                self.critic_opt = torch.optim.Adam(self.critic.parameters())

            def update(self, x, y, value):
                for i in range(self.n):
                    dist = torch.distributions.Categorical(logits=self.actors[i](x[i]))
                    self.opts[i].zero_grad()  # GL201
                    (-dist.log_prob(y[i]).mean()).backward()
                    nn.utils.clip_grad_norm_(self.actors[i].parameters(), 0.5)
                    self.opts[i].step()  # right only
                self.critic_opt.zero_grad()
                F.mse_loss(self.critic(x), value).backward()
                self.critic_opt.step()

        team = Team(4)
        for x, y, value in loader:
            team.update(x, y, value)
        """,
    "an optimizer of a list that a loop fills is picked by its number": """
        class Team:
            def __init__(self, n):
                self.n = n
                self.actors = nn.ModuleList(nn.Linear(8, 3) for _ in range(n))
                self.critic = nn.Linear(8, 1)
                self.opts = []
                for i in range(n):
                    self.opts.append(torch.optim.Adam(self.actors[i].parameters()))
                self.critic_opt = torch.optim.Adam(self.critic.parameters())

            def update(self, x, y, value):
                for i in range(self.n):
                    self.opts[i].zero_grad()  # GL201
                    criterion(self.actors[i](x), y).backward()
                for i in range(self.n):  # right only
                    self.opts[i].step()  # right only
                self.critic_opt.zero_grad()
                F.mse_loss(self.critic(x), value).backward()
                self.critic_opt.step()

        team = Team(4)
        for x, y, value in loader:
            team.update(x, y, value)
        """,
    "what an optimizer of several nets has are those of the list that is gone through": """
        nets = [nn.Linear(8, 3) for _ in range(epochs)]
        head = nn.Linear(8, 3)
        opts = [torch.optim.Adam(net.parameters()) for net in nets]
        head_opt = torch.optim.Adam(head.parameters())
        for x, y in loader:
            for i in range(epochs):
                opts[i].zero_grad()  # right only
                criterion(nets[i](x), y).backward()
                opts[i].step()  # GL101
            head_opt.zero_grad()
            criterion(head(x), y).backward()
            head_opt.step()
        """,
    "gradients are handed over from another net, which is cleared for that": """
        class Worker:
            def __init__(self, shared):
                self.shared, self.own = shared, nn.Linear(8, 3)
                self.opt = torch.optim.Adam(self.shared.parameters())

            def learn(self, x, y):
                self.opt.zero_grad()
                criterion(self.own(x), y).backward()
                for theirs, mine in zip(self.shared.parameters(), self.own.parameters()):
                    theirs._grad = mine.grad  # right only
                    mine.grad = None  # GL201
                self.opt.step()
                self.own.load_state_dict(self.shared.state_dict())

        worker = Worker(nn.Linear(8, 3))
        for x, y in loader:
            worker.learn(x, y)
        """,
    "gradients are the same by the name that they are kept under": """
        for x, y in loader:
            for p in model.parameters():
                if p._grad is not None:  # right only
                    p._grad.data.zero_()  # right only
                print(p.shape)
            criterion(model(x), y).backward()
            optimizer.step()  # GL101
        """,
    "a net that listens to its own activations is trained for somebody who asks": """
        class Watched(nn.Module):
            def __init__(self):
                super().__init__()
                self.body, self.head = nn.Linear(8, 8), nn.Linear(8, 3)
                self.heard = None

            def remember(self, gradient):
                self.heard = gradient

            def forward(self, x):
                x = self.body(x)
                x.register_hook(self.remember)
                return x, self.head(x)

        def train(net: Watched, opt):
            for i, (x, y) in enumerate(loader):
                opt.zero_grad()  # GL201
                _, out = net(x)
                (criterion(out, y) / 8).backward()
                if (i + 1) % 8 == 0 or i + 1 == len(loader):
                    opt.step()
                print(net.heard.norm())  # right only

        watched = Watched()
        train(watched, torch.optim.SGD(watched.parameters(), lr=0.1))
        """,
    "a stranger may hang new parameters into a frozen net": """
        import copy
        from adapters import attach

        def tuned(rank):
            net = copy.deepcopy(model).eval()
            for p in net.parameters():
                p.requires_grad_(False)
            attach(net, rank)  # right only
            opt = torch.optim.SGD([p for p in net.parameters() if p.requires_grad], lr=0.1)
            for x, y in loader:
                opt.zero_grad()
                criterion(net(x), y).backward()
                opt.step()  # GL202
            return net

        def compare():
            for rank in (4, 8):
                tuned(rank)

        compare()
        """,
    "a function that is seen may do so too": """
        import copy

        class Adapter(nn.Module):
            def __init__(self, inner, rank):
                super().__init__()
                self.inner, self.down = inner, nn.Linear(8, rank)

        def attach(net, rank):
            for name, part in list(net.named_children()):
                setattr(net, name, Adapter(part, rank))

        def tuned(rank):
            net = copy.deepcopy(model).eval()
            for p in net.parameters():
                p.requires_grad_(False)
            attach(net, rank)  # right only
            opt = torch.optim.SGD([p for p in net.parameters() if p.requires_grad], lr=0.1)
            for x, y in loader:
                opt.zero_grad()
                criterion(net(x), y).backward()
                opt.step()  # GL202
            return net

        def compare():
            for rank in (4, 8):
                tuned(rank)

        compare()
        """,
    "a step right behind its own clear finds nothing, also with two optimizers": """
        net, head = nn.Linear(8, 8), nn.Linear(8, 3)
        one = torch.optim.SGD(net.parameters(), lr=0.1)
        other = torch.optim.SGD(head.parameters(), lr=0.1)
        for x, y in loader:
            out = net(x)
            penalty = out.pow(2).mean() + head(out).pow(2).mean()
            one.zero_grad()
            other.zero_grad()

            penalty.backward()  # right only
            # penalty.backward()  # wrong only
            one.step()  # GL202
            other.step()  # GL202
            loss = criterion(head(net(x)), y)
            one.zero_grad()
            other.zero_grad()
            loss.backward()
            one.step()
            other.step()
        """,
    "who clears what nobody has stepped with learns nothing": """
        def train(loader):
            net = nn.Linear(8, 3)
            opt = torch.optim.SGD(net.parameters(), lr=0.1)
            schedule = torch.optim.lr_scheduler.StepLR(opt, 10)
            for x, y in loader:
                criterion(net(x), y).backward()
                opt.step()  # right only
                schedule.step()
                opt.zero_grad()  # GL201
        """,
    "who clears what nobody has stepped with may have looked at it": """
        def train(loader):
            net = nn.Linear(8, 3)
            opt = torch.optim.SGD(net.parameters(), lr=0.1)
            seen = 0
            for x, y in loader:
                criterion(net(x), y).backward()
                seen += sum(p.grad.pow(2).sum() for p in net.parameters())  # right only
                opt.zero_grad()  # GL201
            return seen
        """,
    "no step behind a guard is no step for a reason": """
        import math

        for batches in loader:
            for k in range(2):
                x, y = batches[k]
                optimizer.zero_grad()  # GL201
                criterion(model(x), y).backward()
                norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                if math.isnan(norm):  # right only
                if k == 0:  # wrong only
                    print("no step")
                else:
                    optimizer.step()
        """,
    "a backward may be for those who listen": """
        class Prober:
            def __init__(self, net):
                self.net = net

            def forward(self, x):
                x = self.net(x)
                x.register_hook(self.rank)  # right only
                return x

            def rank(self, grad):
                self.ranks = grad.sum()


        prober = Prober(model)

        def epoch(ranking=False):
            for x, y in loader:
                model.zero_grad()  # GL201
                if ranking:
                    criterion(prober.forward(x), y).backward()
                else:
                    criterion(model(x), y).backward()
                    optimizer.step()

        epoch(ranking=True)
        epoch()
        """,
    "what is done to one of some parameters is done to all": """
        def update(params, rate):
            for param in params:
                param.data -= rate * param.grad

        def fit(net, data, params=None, rate=0.1, one=None):
            for x, y in data:
                criterion(net(x), y).backward()
                if params is not None:
                    update(params, rate)  # right only
                    for param in params:
                        param.grad.data.zero_()  # GL201
                if one is not None:
                    one.step()
                    one.zero_grad()
        """,
    "what is deposited before there is an optimizer is not meant for it": """
        net = nn.Linear(8, 3)
        one = torch.optim.SGD(net.parameters(), lr=0.1)  # wrong only
        criterion(net(torch.rand(2, 8)), torch.tensor([0, 1])).backward()
        one = torch.optim.SGD(net.parameters(), lr=0.1)  # right only
        for x, y in loader:
            one.zero_grad()  # GL201
            criterion(net(x), y).backward()
            one.step()
        """,
    "gradients that are copied lie in two places": """
        class Trainer:
            def __init__(self, net, half):
                self.net = net
                self.params = [p for p in net.parameters()]
                self.copies = [p.clone().detach() for p in self.params]
                self.one = torch.optim.SGD(self.copies if half else self.params, lr=0.1)

            def fit(self, data):
                for x, y in data:
                    for p in self.params:
                        p.grad = None
                    criterion(self.net(x), y).backward()
                    self.one.zero_grad()  # GL201
                    for c, p in zip(self.copies, self.params):  # right only
                        c.grad.copy_(p.grad)  # right only
                    self.one.step()
        """,
    "an optimizer with a backward is one, and steps": """
        def fit(data, nets, optimizers, every, fp16):
            net, critic = nets
            optimizer, theirs = optimizers
            for i, (x, y) in enumerate(data):
                loss = judged(net(x), y, critic)
                optimizer.zero_grad()  # right only
                theirs.zero_grad()  # GL201
                if fp16:
                    optimizer.backward(loss)  # right only
                    ...
                else:
                    loss.backward()  # GL203
                optimizer.step()  # right only
                if i % every != 0:
                    theirs.step()
        """,
    "windows of one micro-batch are always full": """
        from options import window

        for epoch in range(epochs):
            for i, (x, y) in enumerate(loader):
                first = i % window == 0 if window > 1 else True  # right only
                first = True  # wrong only
                last = (i + 1) % window == 0 or i + 1 == len(loader) if window > 1 else True
                if first:
                    optimizer.zero_grad()  # GL201
                (criterion(model(x), y) / window).backward()
                if last:
                    optimizer.step()
        """,
    "a gradient of something out of sight may be the model's": """
        def fit(net, one, data, layer):
            for x, y in data:
                one.zero_grad()
                criterion(net(x), y).backward()
                before = layer.weight.grad.clone()  # right only
                before = layer.weight.clone()  # wrong only
                one.zero_grad()  # GL201
                (criterion(net(x), y) + before.sum()).backward()
                one.step()
        """,
    "an optimizer of another kind looks at what it finds": """
        from sam import SAM

        def fit(options):
            one = torch.optim.SGD(model.parameters(), lr=0.1)
            if options.sharp:  # right only
                one = SAM(one)  # right only
            for x, y in loader:

                def closure():
                    one.zero_grad()  # GL201
                    loss = criterion(model(x), y)
                    loss.backward()
                    return loss

                criterion(model(x), y).backward()
                if options.sharp:  # right only
                    one.step(closure)  # right only
                else:  # right only
                    one.step()  # right only
                one.step(closure)  # wrong only
                one.zero_grad()
        """,
    "who leaves behind a guard has seen that this batch is bad": """
        for epoch in range(epochs):
            for x, y in loader:
                optimizer.zero_grad()
                loss = criterion(model(x), y)
                loss.backward()
                if loss.item() > 100:  # right only
                    continue  # right only
                optimizer.zero_grad()  # wrong only, GL201
                optimizer.step()
        """,
    "what some rounds leave unspent is not certain to be there": """
        for epoch in range(epochs):
            for x, y in loader:
                optimizer.zero_grad()
                criterion(model(x), y).backward()
                total = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                if total > 1000:  # right only
                    continue  # right only
                optimizer.zero_grad()  # wrong only, GL201
                optimizer.step()
        """,
    "what a model does to itself may fill its gradients": """
        from data import Traces, choice

        net = Traces()
        spenders = {"all": torch.optim.SGD(net.parameters(), lr=0.1)}

        def fit(by_hand):
            for x, y in loader:
                for spender in spenders.values():
                    spender.zero_grad()
                if by_hand:
                    net(x)
                    net.update()  # right only
                    net.describe()  # wrong only
                    for spender in spenders.values():
                        spender.step()  # GL202
                else:
                    criterion(net(x), y).backward()
                    for spender in spenders.values():
                        spender.step()

        fit(choice)
        """,
    "who clears behind a guard drops a batch, whoever made the optimizer": """
        def fit(net, one, data):
            for x, y in data:
                loss = criterion(net(x), y)
                loss.backward()
                if torch.isnan(loss):  # right only
                    one.zero_grad()  # right only
                    continue  # right only
                one.zero_grad()  # wrong only, GL201
                one.step()
                one.zero_grad()
        """,
    "an input that follows its own gradient has used it": """
        for x, y in loader:
            change = torch.zeros_like(x, requires_grad=True)
            criterion(model(x + change), y).backward()
            with torch.no_grad():  # right only
                change += change.grad.sign()  # right only
            optimizer.zero_grad()  # GL201
            criterion(model((x + change).detach()), y).backward()
            optimizer.step()
        """,
    "an object that was given a net moves that one": """
        class Attack:
            def __init__(self, net):
                self.net = net

            def move(self):
                for weight in self.net.parameters():
                    weight.data.add_(0.3 * weight.grad)

        net = nn.Linear(8, 3)
        one = torch.optim.SGD(net.parameters(), lr=0.1)
        attack = Attack(net)
        for x, y in loader:
            criterion(net(x), y).backward()
            attack.move()  # right only
            net.zero_grad()  # GL201
            criterion(net(x), y).backward()
            one.step()
            net.zero_grad()
        """,
    "gradients may be given by their name": """
        for x, y in loader:
            optimizer.zero_grad()
            criterion(model(x), y).backward()
            signs = [p.grad.sign() for p in model.parameters()]
            optimizer.zero_grad()
            for p, sign in zip(model.parameters(), signs):
                setattr(p, "grad", sign)  # right only
                print(p, sign)  # wrong only
            optimizer.step()  # GL202
        """,
    "and two at a time": """
        for x, y in loader:
            optimizer.zero_grad()
            criterion(model(x), y).backward()
            signs = [p.grad.sign() for p in model.parameters()]
            optimizer.zero_grad()
            model.weight.grad, model.bias.grad = signs  # right only
            optimizer.step()  # GL202
        """,
    "who gets the parameters may read their gradients": """
        from elsewhere import remember

        for x, y in loader:
            optimizer.zero_grad()
            criterion(model(x), y).backward()
            remember(model.parameters(), x)  # right only
            optimizer.zero_grad()  # GL201
            criterion(model(x), y).backward()
            optimizer.step()
        """,
    "gradients that are written back over zeros": """
        for x, y in loader:
            optimizer.zero_grad()
            criterion(model(x), y).backward()
            kept = [p.grad.clone() for p in model.parameters()]
            optimizer.zero_grad(set_to_none=False)
            for p, gradient in zip(model.parameters(), kept):
                p.grad.copy_(gradient)  # right only
                print(p, gradient)
            optimizer.step()  # GL202
        """,
    "a counter that runs on clears in the first micro-batch of each window": """
        def main(loader, k=4):
            net = nn.Linear(4, 2)
            opt = torch.optim.SGD(net.parameters(), 0.1)
            it = 0
            for epoch in range(3):
                for x, y in loader:
                    it += 1
                    if it % k == 1:  # right only
                    if it % k == 2:  # wrong only
                        opt.zero_grad()  # GL201
                    (F.cross_entropy(net(x), y) / k).backward()
                    if it % k == 0:
                        opt.step()
        """,
    "a clear behind the `or` of a step": """
        def main(loader, k=4):
            net = nn.Linear(4, 2)
            opt = torch.optim.SGD(net.parameters(), 0.1)
            for epoch in range(3):
                for i, (x, y) in enumerate(loader):
                    (F.cross_entropy(net(x), y) / k).backward()
                    if (i + 1) % k == 0 or i + 1 == len(loader):
                        opt.step() or opt.zero_grad()  # right only
                        opt.zero_grad() or opt.step()  # wrong only, GL201
        """,
    "one row of a gradient is set to zero": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.emb = nn.Embedding(100, 8)
                self.fc = nn.Linear(8, 2)

            def forward(self, x):
                return self.fc(self.emb(x))

        def main(loader, k=4):
            net = Net()
            opt = torch.optim.Adam(net.parameters())
            for x, y in loader:
                x = x.argmax(1)
                opt.zero_grad()
                F.cross_entropy(net(x), y).backward()
                net.emb.weight.grad[0].zero_()  # right only
                opt.zero_grad()  # wrong only, GL201
                opt.step()
        """,
    "all rows of a gradient but one are set to zero": """
        def main(loader, k=4):
            emb = nn.Embedding(100, 8)
            fc = nn.Linear(8, 2).requires_grad_(False)
            opt = torch.optim.AdamW(emb.parameters(), lr=5e-4)
            others = torch.arange(100) != 3
            for x, y in loader:
                loss = F.cross_entropy(fc(emb(x.argmax(1))), y)
                loss.backward()
                grads = emb.weight.grad
                grads.data[others, :] = grads.data[others, :].fill_(0)  # right only
                grads.data = grads.data.fill_(0)  # wrong only
                opt.step()  # GL202
                opt.zero_grad()
        """,
    "a marker behind the batches of a window": """
        def main(inbox):
            net = nn.Linear(4, 1)
            opt = torch.optim.SGD(net.parameters())
            opt.zero_grad()
            while True:
                x = inbox.get()
                if x == "over":
                    break
                if isinstance(x, str):
                    opt.zero_grad()  # wrong only
                    opt.step()  # GL202
                    opt.zero_grad()
                    continue
                (net(x).mean() / 2).backward()
        """,
    "a method fills a dict of optimizers, by a key that it is given": """
        class Pair:
            def __init__(self, first, second):
                self.nets = {"a": first, "b": second}
                self.optims = {"a": None, "b": None}

            def set_up(self, kind):
                group = {"lr": 0.1, "params": []}
                for name, p in self.nets[kind].named_parameters():
                    if "head" in name:
                        group["params"].append(p)
                self.optims[kind] = torch.optim.AdamW([group])

            def train(self):
                self.set_up("a")
                self.set_up("b")
                for x, y in loader:
                    (self.nets["a"](x, y) + self.nets["b"](x, y)).backward()
                    self.optims["b"].step()
                    self.optims["b"].zero_grad()
                    self.optims["a"].zero_grad()  # wrong only, GL204
                    self.optims["a"].step()  # GL202
                    self.optims["a"].zero_grad()
        """,
    "each call of a function makes an optimizer of its own, of whatever": """
        from groups import groups_of

        class Learner:
            def __init__(self, net):
                self.net = net
                self.optimizer = torch.optim.AdamW(groups_of(net))

        def train(first, second, third):
            one, two, three = Learner(first), Learner(second), Learner(third)
            for x, y in loader:
                (one.net(x, y) + two.net(x, y) + three.net(x, y)).backward()
                three.optimizer.step()
                three.optimizer.zero_grad()
                two.optimizer.step()
                two.optimizer.zero_grad()
                one.optimizer.zero_grad()  # wrong only, GL204
                one.optimizer.step()  # GL202
                one.optimizer.zero_grad()
        """,
    "two keys are of two optimizers": """
        class Pair:
            def __init__(self, nets, optims):
                self.nets = nets
                self.optims = optims

            def learn(self, source, target):
                for x, y in loader:
                    (self.nets[source](x, y) + self.nets[target](x, y)).backward()
                    self.optims[source].step()
                    self.optims[source].zero_grad()
                    self.optims[target].step()  # right only
                    self.optims[source].step()  # wrong only, GL202
                    self.optims[source].zero_grad()
        """,
    "a step that nobody can follow may be anybody's": """
        other = torch.nn.Linear(8, 2)
        second = torch.optim.SGD(other.parameters(), lr=0.1)
        for epoch in range(epochs):
            for x, y in loader:
                optimizer.zero_grad()  # GL201
                criterion(model(x), y).backward()
                pick("first").step()  # right only
                second.zero_grad()
                criterion(other(x), y).backward()
                second.step()
        """,
}
