"""Who owns which parameters, and who has a gradient: GL601 to GL606."""

from __future__ import annotations

TWINS = {
    "what a net says only picks what another is compared with": """
        class Judge(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = nn.Linear(8, 3)

            def forward(self, given):
                return self.layer(given)

        class Matcher:
            def label(self, given):
                return given.argmax(dim=1)

        model = nn.Linear(8, 3)
        judge, matcher = Judge(), Matcher()
        one = torch.optim.SGD(model.parameters(), lr=0.1)  # GL601
        for x, y in loader:
            one.zero_grad()
            label = matcher.label(judge(x))  # right only
            F.cross_entropy(model(x), label).backward()  # right only
            F.mse_loss(model(x), judge(x)).backward()  # wrong only
            one.step()
        """,
    "a loss with weights of its own, and an optimizer that has only the model's": """
        class Margin(nn.Module):
            def __init__(self):
                super().__init__()
                self.weight = nn.Parameter(torch.randn(3, 8))

            def forward(self, given, y):
                return F.cross_entropy(F.linear(given, self.weight), y)

        model = nn.Linear(8, 8)
        margin = Margin()
        params = list(model.parameters()) + list(margin.parameters())  # right only
        one = torch.optim.SGD(params, lr=0.1)  # right only
        one = torch.optim.SGD(model.parameters(), lr=0.1)  # wrong only, GL601
        for x, y in loader:
            one.zero_grad()
            margin(model(x), y).backward()
            one.step()
        """,
    "a loss with weights of its own goes from function to function": """
        class Margin(nn.Module):
            def __init__(self):
                super().__init__()
                self.weight = nn.Parameter(torch.randn(3, 8))

            def forward(self, given, y):
                return F.cross_entropy(F.linear(given, self.weight), y)

        def train(model, loss_fn):
            params = [*model.parameters(), *loss_fn.parameters()]  # right only
            one = torch.optim.SGD(params, lr=0.1)  # right only
            one = torch.optim.SGD(model.parameters(), lr=0.1)  # wrong only, GL601
            for x, y in loader:
                one.zero_grad()
                loss_fn(model(x), y).backward()
                one.step()

        def main():
            model = nn.Linear(8, 8)
            margin = Margin().to("cpu")
            train(model, loss_fn=margin)

        main()
        """,
    "a loss with weights of its own, in a trainer that holds it": """
        class Margin(nn.Module):
            def __init__(self):
                super().__init__()
                self.weight = nn.Parameter(torch.randn(3, 8))

            def forward(self, given, y):
                return F.cross_entropy(F.linear(given, self.weight), y)

        class Trainer:
            def __init__(self, model, margin):
                self.model, self.margin = model, margin
                self.one = torch.optim.SGD(self.model.parameters(), lr=0.1)  # GL601
                self.one.add_param_group({"params": self.margin.parameters()})  # right only

            def step(self, x, y):
                self.one.zero_grad()
                self.margin(self.model(x), y).backward()
                self.one.step()

        trainer = Trainer(nn.Linear(8, 8), Margin())
        for x, y in loader:
            trainer.step(x, y)
        """,
    "a head of the project's own class is made and called, and nobody trains it": """
        class Head(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = nn.Linear(8, 3)

            def forward(self, given):
                return self.layer(given)

        model = nn.Linear(8, 8)
        head = Head()
        model.head = head  # right only
        one = torch.optim.SGD(model.parameters(), lr=0.1)  # GL601
        for x, y in loader:
            one.zero_grad()
            F.cross_entropy(head(model(x)), y).backward()
            one.step()
        """,
    "whoever is given a loss may ask it for its weights": """
        class Margin(nn.Module):
            def __init__(self):
                super().__init__()
                self.weight = nn.Parameter(torch.randn(3, 8))

            def forward(self, given, y):
                return F.cross_entropy(F.linear(given, self.weight), y)

        def weights_of(net, other):
            return [*net.parameters(), *other.parameters()]

        model = nn.Linear(8, 8)
        margin = Margin()
        one = torch.optim.SGD(weights_of(model, margin), lr=0.1)  # right only
        one = torch.optim.SGD(model.parameters(), lr=0.1)  # wrong only, GL601
        for x, y in loader:
            one.zero_grad()
            margin(model(x), y).backward()
            one.step()
        """,
    "layers in a plain list are none of the module's": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.layers = [nn.Linear(8, 8) for _ in range(3)]
                self.layers = nn.ModuleList(self.layers)  # right only
                self.head = nn.Linear(8, 3)

            def forward(self, x):
                for layer in self.layers:
                    x = layer(x).relu()
                return self.head(x)

        net = Net()
        one = torch.optim.SGD(net.parameters(), lr=0.1)  # GL601
        for x, y in loader:
            one.zero_grad()
            criterion(net(x), y).backward()
            one.step()
        """,
    "who knows that layers are in a plain list hands them over one by one": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.layers = []
                for _ in range(3):
                    self.layers.append(nn.Linear(8, 8))
                self.head = nn.Linear(8, 3)

            def forward(self, x):
                for place in range(3):
                    x = self.layers[place](x)
                return self.head(x)

        net = Net()
        one = torch.optim.SGD(net.parameters(), lr=0.1)  # GL601
        for layer in net.layers:  # right only
            one.add_param_group({"params": layer.parameters()})  # right only
        for x, y in loader:
            one.zero_grad()
            criterion(net(x), y).backward()
            one.step()
        """,
    "a net that follows another one is not trained by that": """
        slow = nn.Linear(8, 3)
        slow.load_state_dict(model.state_dict())
        one = torch.optim.SGD(model.parameters(), lr=0.1)  # GL601
        for x, y in loader:
            goal = slow(x)
            goal = goal.detach()  # right only
            one.zero_grad()
            (model(x) - goal).square().mean().backward()
            one.step()
            for old, new in zip(slow.parameters(), model.parameters()):
                old.data.mul_(0.9).add_(0.1 * new.data)
        """,
    "what is written into a net's data may be its own gradient": """
        slow = nn.Linear(8, 3)
        one = torch.optim.SGD(model.parameters(), lr=0.1)  # GL601
        for x, y in loader:
            one.zero_grad()
            (model(x) - slow(x)).square().mean().backward()
            one.step()
            for old, new in zip(slow.parameters(), model.parameters()):
                old.data.copy_(old.data - 0.1 * old.grad)  # right only
                old.grad.zero_()  # right only
                old.data.copy_(0.1 * new.data + 0.9 * old.data)  # wrong only
        """,
    "a container has the parameters of what is in it": """
        import kornia.augmentation as K
        before = nn.Sequential(K.RandomGamma((0.7, 2.0)), K.RandomBrightness(0.3))  # right only
        before = nn.Sequential(nn.Linear(8, 8), nn.ReLU())  # wrong only
        net = nn.Linear(8, 3)
        one = torch.optim.SGD(net.parameters(), lr=0.1)  # GL601
        for x, y in loader:
            one.zero_grad()
            criterion(net(before(x)), y).backward()
            one.step()
        """,
    "a gradient that stands between its backward and its clear is there": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.body, self.head = nn.Linear(8, 8), nn.Linear(8, 3)

            def forward(self, x):
                return self.head(self.body(x))

        net = Net()
        one = torch.optim.SGD([net.body.weight, net.body.bias], lr=0.1)
        for x, y in loader:
            one.zero_grad()
            net.head.zero_grad()
            criterion(net(x), y).backward()  # right only
            print(net.head.weight.grad.norm())  # GL606
            criterion(net(x), y).backward()  # wrong only
            one.step()
        """,
    "a gradient is found by its parameter's name": """
        weights = dict(model.named_parameters())
        criterion(model(torch.rand(2, 8)), torch.tensor([0, 1])).backward()  # right only
        for name in weights:
            print(weights[name].grad.norm())  # GL606
        criterion(model(torch.rand(2, 8)), torch.tensor([0, 1])).backward()  # wrong only
        optimizer.step()
        """,
    "another tensor is asked whether it has a gradient": """
        other = nn.Linear(8, 3)
        if other.weight.grad is not None:
            print("left over")
        criterion(model(torch.rand(2, 8)), torch.tensor([0, 1])).backward()  # right only
        print(model.weight.grad.norm())  # GL606
        criterion(model(torch.rand(2, 8)), torch.tensor([0, 1])).backward()  # wrong only
        optimizer.step()
        """,
    "the same tensor is asked whether it has a gradient": """
        if model.weight.grad is not None:  # right only
            print("left over")  # right only
        print(model.weight.grad.norm())  # GL606
        criterion(model(torch.rand(2, 8)), torch.tensor([0, 1])).backward()
        optimizer.step()
        """,
    "on one path alone a tensor is asked whether it has a gradient": """
        if epochs > 3:  # wrong only
            if model.weight.grad is not None:  # wrong only
                print("left over")  # wrong only
        criterion(model(torch.rand(2, 8)), torch.tensor([0, 1])).backward()  # right only
        print(model.weight.grad.norm())  # GL606
        criterion(model(torch.rand(2, 8)), torch.tensor([0, 1])).backward()  # wrong only
        optimizer.step()
        """,
    "only those that have a gradient are looked at": """
        def size(weights):
            weights = list(filter(lambda w: w.grad is not None, weights))  # right only
            return sum([w.grad.norm() for w in weights])  # GL606

        for x, y in loader:
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            print(size(model.parameters()))
            loss.backward()
            optimizer.step()
        """,
    "a loss without parameters is no part of the training": """
        class Soft(nn.Module):
            def __init__(self, heat):
                super().__init__()
                self.heat = heat  # right only
                self.heat = nn.Linear(3, 3)  # wrong only

            def forward(self, out, y):
                return (self.heat * out - y).square().mean()

        losses = nn.ModuleList([nn.CrossEntropyLoss(), Soft(4.0)])
        one = torch.optim.SGD(model.parameters(), lr=0.1)  # GL601
        for x, y in loader:
            one.zero_grad()
            losses[1](model(x), y).backward()
            one.step()
        """,
    "an optimizer that is made anew has the new parameters": """
        import models

        net = models.resnet()
        one = torch.optim.SGD(net.parameters(), lr=0.1)
        net.head = nn.Linear(8, 3)  # GL603
        one = torch.optim.SGD(net.parameters(), lr=0.1)  # right only
        for x, y in loader:
            one.zero_grad()
            criterion(net(x), y).backward()
            one.step()
        """,
    "a layer that is exchanged before anybody has it is nobody's": """
        net = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 10))
        net[-1] = nn.Linear(8, 3)  # right only
        one = torch.optim.SGD(net.parameters(), lr=0.1)
        net[-1] = nn.Linear(8, 3)  # wrong only, GL603
        for x, y in loader:
            one.zero_grad()
            criterion(net(x), y).backward()
            one.step()
        """,
    "a layer that an optimizer has already may be put anywhere": """
        net, head = nn.Sequential(nn.Linear(8, 8), nn.Linear(8, 10)), nn.Linear(8, 3)
        one = torch.optim.SGD([*net.parameters(), *head.parameters()])  # right only
        one = torch.optim.SGD(net.parameters())  # wrong only
        net[1] = head  # GL603
        for x, y in loader:
            one.zero_grad()
            criterion(net(x), y).backward()
            one.step()
        """,
    "a weight that is exchanged by hand may be handed over": """
        class Tagger(nn.Module):
            def __init__(self):
                super().__init__()
                self.words, self.out = nn.Embedding(10, 6), nn.Linear(6, 3)

            def forward(self, x):
                return self.out(self.words(x))

        net = Tagger()
        one = torch.optim.SGD(net.parameters(), lr=0.1)
        net.words.weight = nn.Parameter(torch.zeros(15, 6))  # GL603
        one.add_param_group({"params": [net.words.weight]})  # right only
        for x, y in loader:
            one.zero_grad()
            criterion(net(x), y).backward()
            one.step()
        """,
    "a weight that is not trained needs no optimizer": """
        net = nn.Sequential(nn.Embedding(10, 6), nn.Linear(6, 3))
        one = torch.optim.SGD(net.parameters(), lr=0.1)
        net[0].weight = nn.Parameter(dataset.words, requires_grad=False)  # right only
        net[0].weight = nn.Parameter(dataset.words)  # wrong only, GL603
        for x, y in loader:
            one.zero_grad()
            criterion(net(x), y).backward()
            one.step()
        """,
    "a layer that a method exchanges goes to the optimizer that is made next": """
        def fresh():
            return nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 3))

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.body, self.head = nn.Linear(8, 8), fresh()

            def forward(self, x):
                return self.head(self.body(x))

            def reset(self):
                self.head = fresh()  # GL603

        net = Net()
        one = torch.optim.SGD(net.parameters(), lr=0.1)
        for epoch in range(10):
            if epoch == 5:
                net.reset()
                one = torch.optim.SGD(net.parameters(), lr=0.1)  # right only
            for x, y in loader:
                one.zero_grad()
                criterion(net(x), y).backward()
                one.step()
        """,
    "what each fold exchanges, its own optimizer gets": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.body, self.head = nn.Linear(8, 8), nn.Linear(8, 3)

            def forward(self, x):
                return self.head(self.body(x))

            def reset(self):
                self.head = nn.Linear(8, 3).to(device)  # GL603

        def train(net, folds):
            one = torch.optim.SGD(net.parameters(), lr=0.1)  # wrong only
            for fold in folds:
                one = torch.optim.SGD(net.parameters(), lr=0.1)  # right only
                for x, y in fold:
                    one.zero_grad()
                    criterion(net(x), y).backward()
                    one.step()
                net.reset()

        train(Net(), dataset.folds)
        """,
    "weights that a method exchanges before there is an optimizer are what it gets": """
        class Tagger(nn.Module):
            def __init__(self):
                super().__init__()
                self.words = nn.Embedding(10, 6)
                self.out = nn.Linear(6, 3)

            def forward(self, x):
                return self.out(self.words(x))

            def resize(self, n):
                old = self.words.weight.data
                self.words.weight = nn.Parameter(torch.zeros(n, 6))  # GL603

        def main():
            net = Tagger()
            net.resize(15)  # right only
            one = torch.optim.SGD(net.parameters(), lr=0.1)
            net.resize(15)  # wrong only
            for x, y in loader:
                one.zero_grad()
                criterion(net(x), y).backward()
                one.step()

        main()
        """,
    "who goes back to the best weights loads them": """
        import copy

        class Trainer:
            def __init__(self, net):
                self.net = net
                self.one = torch.optim.SGD(self.net.parameters(), lr=0.1)
                self.best = copy.deepcopy(net)

            def keep(self):
                self.best = copy.deepcopy(self.net)

            def back(self):
                self.net.load_state_dict(self.best.state_dict())  # right only
                self.net = copy.deepcopy(self.best)  # wrong only, GL603

            def learn(self, x, y):
                self.one.zero_grad()
                criterion(self.net(x), y).backward()
                self.one.step()

        trainer = Trainer(nn.Linear(8, 3))
        for epoch in range(10):
            for x, y in loader:
                trainer.learn(x, y)
            trainer.keep()
            if epoch == 5:
                trainer.back()
        """,
    "a copy that stands in for a net while others look, and goes again": """
        import copy

        class Trainer:
            def __init__(self, net):
                self.net, self.slow = net, copy.deepcopy(net)
                self.one = torch.optim.SGD(self.net.parameters(), lr=0.1)

            def show(self, x):
                trained = self.net
                self.net = copy.deepcopy(self.slow)  # GL603
                print(self.net(x))
                self.net = trained  # right only

            def learn(self, x, y):
                self.one.zero_grad()
                criterion(self.net(x), y).backward()
                self.one.step()

        trainer = Trainer(nn.Linear(8, 3))
        for x, y in loader:
            trainer.show(x)
            trainer.learn(x, y)
        """,
    "a layer that a method adds is in the place of none": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.head, self.shown = nn.Linear(8, 3), None  # right only
                self.head, self.shown = nn.Linear(8, 3), nn.Linear(8, 3)  # wrong only

            def forward(self, x):
                return self.head(x)

            def calibrate(self, x):
                told = self.head(x).detach()
                self.shown = nn.Sequential(nn.Linear(8, 3), nn.Tanh())  # GL603
                return told

        net = Net()
        one = torch.optim.SGD(net.parameters(), lr=0.1)
        for x, y in loader:
            one.zero_grad()
            criterion(net(x), y).backward()
            one.step()
            net.calibrate(x)
        """,
    "who goes back to a copy makes the optimizer anew": """
        import copy

        class Trainer:
            def __init__(self, net):
                self.net = net
                self.one = torch.optim.SGD(self.net.parameters(), lr=0.1)  # wrong only
                self.prepare()

            def prepare(self):
                self.one = torch.optim.SGD(self.net.parameters(), lr=0.1)  # right only
                self.seen = 0

            def back(self, best):
                self.net = copy.deepcopy(best)  # GL603
                self.prepare()

            def learn(self, x, y):
                self.one.zero_grad()
                criterion(self.net(x), y).backward()
                self.one.step()

        trainer = Trainer(nn.Linear(8, 3))
        for i, (x, y) in enumerate(loader):
            trainer.learn(x, y)
            if i == 5:
                trainer.back(model)
        """,
    "a method that packs its layers anew has the same ones": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.body, self.head = nn.Linear(8, 8), nn.Linear(8, 3)

            def forward(self, x):
                return self.head(self.body(x))

            def squash(self):
                self.head = nn.Sequential(self.head, nn.Tanh())  # right only
                self.head = nn.Sequential(nn.Linear(8, 3), nn.Tanh())  # wrong only, GL603

        net = Net()
        one = torch.optim.SGD(net.parameters(), lr=0.1)
        net.squash()
        for x, y in loader:
            one.zero_grad()
            criterion(net(x), y).backward()
            one.step()
        """,
    "a layer that a method exchanges may be handed over": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.body, self.head = nn.Linear(8, 8), nn.Linear(8, 3)

            def forward(self, x):
                return self.head(self.body(x))

            def widen(self, n):
                self.head = nn.Linear(8, n)  # GL603

        net = Net()
        one = torch.optim.SGD(net.parameters(), lr=0.1)
        net.widen(5)
        one.add_param_group({"params": net.head.parameters()})  # right only
        for x, y in loader:
            one.zero_grad()
            criterion(net(x), y).backward()
            one.step()
        """,
    "a frozen part is no part of the training": """
        body, head = nn.Linear(8, 8), nn.Linear(8, 3)
        body.weight.requires_grad_(False)  # right only
        body.bias.requires_grad_(False)  # right only
        one = torch.optim.Adam(head.parameters())  # GL601
        for x, y in loader:
            loss = criterion(head(body(x)), y)
            one.zero_grad()
            loss.backward()
            one.step()
        """,
    "a net may be frozen when it is made": """
        teacher = nn.Linear(8, 3).requires_grad_(False)  # right only
        teacher = nn.Linear(8, 3).to(device)  # wrong only
        one = torch.optim.Adam(model.parameters())  # GL601
        for x, y in loader:
            loss = F.mse_loss(model(x), teacher(x))
            one.zero_grad()
            loss.backward()
            one.step()
        """,
    "a norm without parameters has none to leave out": """
        norm = nn.BatchNorm1d(3, affine=False)  # right only
        norm = nn.BatchNorm1d(3)  # wrong only
        one = torch.optim.Adam(model.parameters())  # GL601
        for x, y in loader:
            loss = criterion(norm(model(x)), y)
            one.zero_grad()
            loss.backward()
            one.step()
        """,
    "what is computed while gradients are switched off between statements has no graph": """
        critic = nn.Linear(8, 1)
        actor = torch.optim.SGD(model.parameters(), lr=0.1)  # GL601
        for x, y in loader:
            actor.zero_grad()
            torch.set_grad_enabled(False)  # right only
            target = critic(y)
            torch.set_grad_enabled(True)  # right only
            (model(x) - target).square().mean().backward()
            actor.step()
        """,
    "no_grad by another name": """
        from torch import no_grad as frozen
        from torch import enable_grad as melted

        teacher, student = nn.Linear(8, 3), nn.Linear(8, 3)
        spender = torch.optim.SGD(student.parameters(), lr=0.1)  # GL601
        for x, y in loader:
            with frozen():  # right only
                target = teacher(x)  # right only
            with melted():  # wrong only
                target = teacher(x)  # wrong only
            spender.zero_grad()
            (student(x) - target).square().mean().backward()
            spender.step()
        """,
    "a goal that a copy gives is no loss of the copy": """
        import copy

        slow = copy.deepcopy(model)
        one = torch.optim.SGD(model.parameters(), lr=0.1)  # GL601
        for x, later in loader:
            goal = 0.9 * slow(later)
            goal = goal.detach()  # right only
            one.zero_grad()
            (model(x) - goal).square().mean().backward()
            one.step()
            for old, new in zip(slow.parameters(), model.parameters()):
                old.data.copy_(0.9 * old.data + 0.1 * new.data)
        """,
    "a copy that is frozen gets nothing": """
        import copy

        slow = copy.deepcopy(model)
        for p in slow.parameters():  # right only
            p.requires_grad = False  # right only
        one = torch.optim.SGD(model.parameters(), lr=0.1)  # GL601
        for x, later in loader:
            one.zero_grad()
            (model(x) - slow(later)).square().mean().backward()
            one.step()
        """,
    "a copy of what is frozen is frozen": """
        import copy

        teacher = nn.Linear(8, 3)
        teacher.requires_grad_(False)  # right only
        slow = copy.deepcopy(teacher)
        one = torch.optim.SGD(model.parameters(), lr=0.1)  # GL601
        for x, later in loader:
            one.zero_grad()
            (model(x) - slow(later)).square().mean().backward()
            one.step()
        """,
    "an object's goal is cut off from the net that gives it": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.line = nn.Linear(8, 3)

            def forward(self, x):
                return self.line(x)

        class Agent:
            def __init__(self):
                self.net = Net()
                self.slow = Net()
                self.slow.load_state_dict(self.net.state_dict())
                self.one = torch.optim.SGD(self.net.parameters(), lr=0.1)  # GL601

            def learn(self, x, later):
                goal = 0.9 * self.slow(later)
                goal = goal.detach()  # right only
                self.one.zero_grad()
                (self.net(x) - goal).square().mean().backward()
                self.one.step()
                for old, new in zip(self.slow.parameters(), self.net.parameters()):
                    old.data.copy_(0.9 * old.data + 0.1 * new.data)

        agent = Agent()
        for x, later in loader:
            agent.learn(x, later)
        """,
    "an object's goal is computed without gradients": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.line = nn.Linear(8, 3)

            def forward(self, x):
                return self.line(x)

        class Agent:
            def __init__(self):
                self.net = Net()
                self.slow = Net()
                self.slow.load_state_dict(self.net.state_dict())
                self.one = torch.optim.SGD(self.net.parameters(), lr=0.1)  # GL601

            def learn(self, x, later):
                with torch.no_grad():  # right only
                    goal = 0.9 * self.slow(later)  # right only
                goal = 0.9 * self.slow(later)  # wrong only
                self.one.zero_grad()
                (self.net(x) - goal).square().mean().backward()
                self.one.step()
                for old, new in zip(self.slow.parameters(), self.net.parameters()):
                    old.data.copy_(0.9 * old.data + 0.1 * new.data)

        agent = Agent()
        for x, later in loader:
            agent.learn(x, later)
        """,
    "an object freezes the net that gives its goal": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.line = nn.Linear(8, 3)

            def forward(self, x):
                return self.line(x)

        class Agent:
            def __init__(self):
                self.net = Net()
                self.slow = Net()
                self.slow.load_state_dict(self.net.state_dict())
                self.one = torch.optim.SGD(self.net.parameters(), lr=0.1)  # GL601
                for p in self.slow.parameters():  # right only
                    p.requires_grad = False  # right only

            def learn(self, x, later):
                goal = 0.9 * self.slow(later)
                self.one.zero_grad()
                (self.net(x) - goal).square().mean().backward()
                self.one.step()
                for old, new in zip(self.slow.parameters(), self.net.parameters()):
                    old.data.copy_(0.9 * old.data + 0.1 * new.data)

        agent = Agent()
        for x, later in loader:
            agent.learn(x, later)
        """,
    "an optimizer has both nets of an object": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.line = nn.Linear(8, 3)

            def forward(self, x):
                return self.line(x)

        class Agent:
            def __init__(self):
                self.net = Net()
                self.slow = Net()
                self.slow.load_state_dict(self.net.state_dict())
                both = [*self.net.parameters(), *self.slow.parameters()]  # right only
                self.one = torch.optim.SGD(both, lr=0.1)  # right only
                self.one = torch.optim.SGD(self.net.parameters(), lr=0.1)  # wrong only, GL601

            def learn(self, x, later):
                goal = 0.9 * self.slow(later)
                self.one.zero_grad()
                (self.net(x) - goal).square().mean().backward()
                self.one.step()
                for old, new in zip(self.slow.parameters(), self.net.parameters()):
                    old.data.copy_(0.9 * old.data + 0.1 * new.data)

        agent = Agent()
        for x, later in loader:
            agent.learn(x, later)
        """,
    "a net of an object goes to code out of sight": """
        from elsewhere import Keeper

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.line = nn.Linear(8, 3)

            def forward(self, x):
                return self.line(x)

        class Agent:
            def __init__(self):
                self.net = Net()
                self.slow = Net()
                self.slow.load_state_dict(self.net.state_dict())
                self.one = torch.optim.SGD(self.net.parameters(), lr=0.1)  # GL601
                Keeper(self.slow)  # right only

            def learn(self, x, later):
                goal = 0.9 * self.slow(later)
                self.one.zero_grad()
                (self.net(x) - goal).square().mean().backward()
                self.one.step()
                for old, new in zip(self.slow.parameters(), self.net.parameters()):
                    old.data.copy_(0.9 * old.data + 0.1 * new.data)

        agent = Agent()
        for x, later in loader:
            agent.learn(x, later)
        """,
    "a net that gives no gradients to what it is made of": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.line = nn.Linear(8, 3)

            def forward(self, x):
                return self.line(x).detach() if x.dim() > 4 else self.line(x)  # right only
                return self.line(x)  # wrong only

        class Agent:
            def __init__(self):
                self.net = Net()
                self.slow = Net()
                self.slow.load_state_dict(self.net.state_dict())
                self.one = torch.optim.SGD(self.net.parameters(), lr=0.1)  # GL601

            def learn(self, x, later):
                goal = 0.9 * self.slow(later)
                self.one.zero_grad()
                (self.net(x) - goal).square().mean().backward()
                self.one.step()
                for old, new in zip(self.slow.parameters(), self.net.parameters()):
                    old.data.copy_(0.9 * old.data + 0.1 * new.data)

        agent = Agent()
        for x, later in loader:
            agent.learn(x, later)
        """,
    "a head that an object forgets to hand over": """
        class Trainer:
            def __init__(self):
                self.body = nn.Linear(8, 8)
                self.head = nn.Linear(8, 3)
                owned = [*self.body.parameters(), *self.head.parameters()]  # right only
                owned = self.body.parameters()  # wrong only
                self.one = torch.optim.SGD(owned, lr=0.1)  # GL601

            def fit(self):
                for x, y in loader:
                    self.one.zero_grad()
                    criterion(self.head(self.body(x)), y).backward()
                    self.one.step()

        Trainer().fit()
        """,
    "a method writes over the net that gives a goal": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.line = nn.Linear(8, 3)

            def forward(self, x):
                return self.line(x)

            def reset_parameters(self):
                self.line.weight.data.uniform_(-0.1, 0.1)

        class Agent:
            def __init__(self):
                self.net = Net()
                self.slow = Net()
                self.slow.load_state_dict(self.net.state_dict())
                self.one = torch.optim.SGD(self.net.parameters(), lr=0.1)  # GL601

            def learn(self, x, later):
                goal = 0.9 * self.slow(later)
                goal = goal.detach()  # right only
                self.one.zero_grad()
                (self.net(x) - goal).square().mean().backward()
                self.one.step()
                self.follow(self.net, self.slow, 0.1)

            def follow(self, net, slow, rate):
                for old, new in zip(slow.parameters(), net.parameters()):
                    old.data.copy_(rate * new.data + (1 - rate) * old.data)

        agent = Agent()
        for x, later in loader:
            agent.learn(x, later)
        """,
    "a method may do more to the net that gives a goal": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.line = nn.Linear(8, 3)

            def forward(self, x):
                return self.line(x)

            def reset_parameters(self):
                self.line.weight.data.uniform_(-0.1, 0.1)

        class Agent:
            def __init__(self):
                self.net = Net()
                self.slow = Net()
                self.slow.load_state_dict(self.net.state_dict())
                self.one = torch.optim.SGD(self.net.parameters(), lr=0.1)  # GL601

            def learn(self, x, later):
                goal = 0.9 * self.slow(later)
                self.one.zero_grad()
                (self.net(x) - goal).square().mean().backward()
                self.one.step()
                self.follow(self.net, self.slow, 0.1)

            def follow(self, net, slow, rate):
                for old, new in zip(slow.parameters(), net.parameters()):
                    old.grad = None  # right only
                    old.data.copy_(rate * new.data + (1 - rate) * old.data)

        agent = Agent()
        for x, later in loader:
            agent.learn(x, later)
        """,
    "a net of a class out of sight is trained like its twin": """
        from elsewhere import Net

        class Agent:
            def __init__(self):
                self.net = Net(8)
                self.slow = Net(8)
                self.one = torch.optim.SGD(self.net.parameters(), lr=0.1)  # GL601

            def learn(self, x, later):
                goal = 0.9 * self.slow(later)
                goal = goal.detach()  # right only
                self.one.zero_grad()
                F.mse_loss(self.net(x), goal).backward()
                self.one.step()
                self.follow(self.net, self.slow)

            def follow(self, net, slow):
                for old, new in zip(slow.parameters(), net.parameters()):
                    old.data.copy_(0.1 * new.data + 0.9 * old.data)

        agent = Agent()
        for x, later in loader:
            agent.learn(x, later)
        """,
    "a net of the project's own is trained like its twin": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.line = nn.Linear(8, 3)

            def forward(self, x):
                return self.line(x)

        net, other = Net(), Net()
        one = torch.optim.SGD(net.parameters(), lr=0.1)  # GL601
        for x, later in loader:
            one.zero_grad()
            with torch.no_grad():  # right only
                goal = other(later)  # right only
            goal = other(later)  # wrong only
            F.mse_loss(net(x), goal).backward()
            one.step()
        """,
}
