"""Graphs that are kept or carried on: GL701 to GL703."""

from __future__ import annotations

TWINS = {
    "a state that a function hands back, with its graph": """
        def walk_on(net, state, x):
            return torch.tanh(net(torch.cat([x, state], -1)))

        def main(rounds):
            net, out = nn.Linear(8 + 5, 8), nn.Linear(8, 3)
            one = torch.optim.SGD([*net.parameters(), *out.parameters()], lr=0.1)
            state = torch.zeros(2, 8)
            for _ in range(rounds):
                x, y = torch.randn(2, 5), torch.randn(2, 3)
                state = walk_on(net, state, x)  # wrong only, GL702
                state = walk_on(net, state.detach(), x)  # right only
                loss = (out(state) - y).pow(2).mean()
                one.zero_grad()
                loss.backward()
                one.step()

        main(6)
        """,
    "a state that a function hands back, without its graph": """
        def walk_on(net, state, x):
            state = state.detach()  # right only
            return torch.tanh(net(torch.cat([x, state], -1)))

        def main(rounds):
            net, out = nn.Linear(8 + 5, 8), nn.Linear(8, 3)
            one = torch.optim.SGD([*net.parameters(), *out.parameters()], lr=0.1)
            state = torch.zeros(2, 8)
            for _ in range(rounds):
                x, y = torch.randn(2, 5), torch.randn(2, 3)
                state = walk_on(net, state, x)  # GL702
                loss = (out(state) - y).pow(2).mean()
                one.zero_grad()
                loss.backward()
                one.step()

        main(6)
        """,
    "a state that a loss takes from around it": """
        middle = torch.zeros(3)

        def spread(out):
            return (out - middle).pow(2).sum(1).mean()

        for x, y in loader:
            out = model(x)
            middle = 0.9 * middle + 0.1 * out.mean(0).detach()  # right only
            middle = 0.9 * middle + 0.1 * out.mean(0)  # wrong only, GL702
            loss = spread(out)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        """,
    "a state that a loss takes no graph from": """
        middle = torch.zeros(3)

        def spread(out, middle):
            return (out - middle.detach()).pow(2).sum(1).mean()  # right only
            return (out - middle).pow(2).sum(1).mean()  # wrong only

        for x, y in loader:
            out = model(x)
            middle = 0.9 * middle + 0.1 * out.mean(0)  # GL702
            loss = spread(out, middle)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        """,
    "a sum over the windows of an epoch": """
        optimizer.zero_grad()
        for epoch in range(epochs):
            total = 0
            for i, (x, y) in enumerate(loader):
                loss = criterion(model(x), y) / 4
                loss.backward()
                total += loss.item()  # right only
                total += loss  # wrong only, GL701
                if (i + 1) % 4 == 0 or i + 1 == len(loader):
                    optimizer.step()
                    optimizer.zero_grad()
            print(total)
        """,
    "a sum over one window, which is let go with it": """
        optimizer.zero_grad()
        total = 0
        for i, (x, y) in enumerate(loader):
            loss = criterion(model(x), y) / 4
            loss.backward()
            total += loss  # GL701
            if (i + 1) % 4 == 0 or i + 1 == len(loader):
                optimizer.step()
                optimizer.zero_grad()
                print(total)
                total = 0  # right only
        """,
    "what an output has next to the loss that is differentiated may be a number": """
        from zoo import Teller

        teller = Teller()
        optimizer = torch.optim.SGD(teller.parameters(), lr=0.1)
        told = []
        for x, y in loader:
            optimizer.zero_grad()
            out = teller(x, y)
            out.loss.backward()
            optimizer.step()
            told.append(out.loss_value)  # right only
            told.append(out.loss)  # wrong only, GL701
        """,
    "what is computed of an output's numbers is a number": """
        from zoo import Teller

        def learn(teller, optimizer, x, y):
            optimizer.zero_grad()
            out = teller(x, y)
            loss, shown = out.loss, out.loss_value * 0.5  # right only
            loss = shown = out.loss * 0.5  # wrong only
            loss.backward()
            optimizer.step()
            return shown / len(x), None

        def train(teller: Teller):
            optimizer = torch.optim.SGD(teller.parameters(), lr=0.1)
            told = []
            for x, y in loader:
                loss, _ = learn(teller, optimizer, x, y)
                told.append(loss)  # GL701
        """,
    "what an output counts is summed without a graph": """
        from zoo import Teller

        teller = Teller()
        optimizer = torch.optim.SGD(teller.parameters(), lr=0.1)
        total = 0
        for x, y in loader:
            optimizer.zero_grad()
            out = teller(x, y)
            out.loss.backward()
            optimizer.step()
            total += out.hits  # right only
            total += out.loss  # wrong only, GL701
        """,
    "what a criterion gives next to its loss may be numbers": """
        class Parts(nn.Module):
            def forward(self, out, y):
                main = F.mse_loss(out, y)
                return main + out.abs().mean(), {"loss_main": main.item()}

        class Both(nn.Module):
            def __init__(self):
                super().__init__()
                self.inner = Parts()

            def forward(self, out, y):
                return self.inner(out, y)

        measure = Both() if device == "cuda" else Parts()
        shown = []
        for x, y in loader:
            optimizer.zero_grad()
            loss, losses = measure(model(x), y)
            loss.backward()
            optimizer.step()
            shown.append(losses["loss_main"])  # right only
            shown.append(loss)  # wrong only, GL701
        """,
    "a class from outside need not keep what is appended": """
        from meters import CumulativeAverage
        losses = CumulativeAverage()  # right only
        losses = []  # wrong only
        for x, y in loader:
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()
            losses.append(loss)  # GL701
        """,
    "of what a model returns, the rest may be numbers": """
        def fit(net, data):
            one = torch.optim.SGD(net.parameters(), lr=0.1)
            accuracy = 0
            for x, y in data:
                loss, right = net(x, y)  # right only
                right = loss = net(x, y)  # wrong only
                net.zero_grad()
                loss.backward()
                one.step()
                accuracy += right  # GL701
            return accuracy
        """,
    "a forward returns what it says": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.line = nn.Linear(8, 3)

            def forward(self, x, y):
                out = self.line(x)
                loss = F.cross_entropy(out, y)
                return loss, loss.item()  # right only
                return loss, loss  # wrong only

        net = Net()
        one = torch.optim.SGD(net.parameters(), lr=0.1)
        total_loss = 0
        for x, y in loader:
            one.zero_grad()
            loss, shown_loss = net(x, y)
            loss.backward()
            one.step()
            total_loss += shown_loss  # GL701
        """,
    "a sum without a graph keeps none": """
        for epoch in range(epochs):
            total = torch.tensor(0.0)
            for x, y in loader:
                optimizer.zero_grad()
                loss = criterion(model(x), y)
                loss.backward()
                optimizer.step()
                with torch.no_grad():  # right only
                    total += loss  # right only
                total += loss  # wrong only, GL701
        """,
    "a model may cut the graph of the state that it gives back": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.cell, self.head = nn.RNNCell(8, 8), nn.Linear(8, 3)

            def forward(self, x, state):
                state = self.cell(x, state)
                return self.head(state), self.kept(state)

            def kept(self, state):
                return state.detach()  # right only
                return torch.clone(state)  # wrong only

        net = Net()
        one = torch.optim.SGD(net.parameters(), lr=0.1)
        state = torch.zeros(16, 8)
        for x, y in loader:
            one.zero_grad()
            found, state = net(x, state)  # GL702
            criterion(found, y).backward()
            one.step()
        """,
    "a running mean holds what it is made of": """
        for epoch in range(epochs):
            mean = 0
            for i, (x, y) in enumerate(loader):
                optimizer.zero_grad()
                loss = criterion(model(x), y)
                loss.backward()
                optimizer.step()
                loss = loss.item()  # right only
                mean += (loss - mean) / (i + 1)  # GL701
        """,
    "to add a loss to a sum is to add its graph, however it is written": """
        for epoch in range(epochs):
            total = 0
            for x, y in loader:
                optimizer.zero_grad()
                loss = criterion(model(x), y)
                loss.backward()
                optimizer.step()
                total = total + loss.item()  # right only
                total = total + loss  # wrong only, GL701
        """,
    "a loss that is set back is left behind": """
        for epoch in range(epochs):
            loss = 0
            for i, (x, y) in enumerate(loader):
                loss = loss + criterion(model(x), y) / 4
                if (i + 1) % 4 == 0:
                    optimizer.zero_grad()
                    loss.backward()
                    optimizer.step()
                    loss = 0  # right only
                    loss = loss * 0.5  # wrong only, GL702
        """,
    "losses of one batch are let go with it": """
        nets = [nn.Linear(8, 3), nn.Linear(8, 3)]
        optimizers = [torch.optim.SGD(net.parameters(), lr=0.1) for net in nets]
        losses = []  # wrong only
        for x, y in loader:
            losses = []  # right only
            for net, one in zip(nets, optimizers):
                one.zero_grad()
                loss = criterion(net(x), y)
                loss.backward()
                one.step()
                losses.append(loss)  # GL701
        """,
    "data may be gone through by its numbers": """
        for epoch in range(epochs):
            total = 0
            for k in range(len(dataset)):
                x, y = dataset[k]
                optimizer.zero_grad()
                loss = criterion(model(x), y)
                loss.backward()
                optimizer.step()
                total += loss.item()  # right only
                total += loss  # wrong only, GL701
        """,
    "what becomes of a loss out of sight may be a number": """
        from elsewhere import number

        for epoch in range(epochs):
            total = 0
            for x, y in loader:
                optimizer.zero_grad()
                loss = criterion(model(x), y)
                loss.backward()
                optimizer.step()
                loss = number(loss)  # right only
                total += loss  # GL701
        """,
    "of a dict of numbers only a loss surely has a graph": """
        right = 0
        for x, y in loader:
            optimizer.zero_grad()
            out = model(x)
            out = {"loss": criterion(out, y), "right": out.sum()}
            out["loss"].backward()
            optimizer.step()
            right += out["right"]  # right only
            right += out["loss"]  # wrong only, GL701
        """,
    "where the largest stands has no graph": """
        token = torch.zeros(8)
        for x, y in loader:
            out = model(token)
            _, token = out.topk(1)  # right only
            token = out * 2  # wrong only, GL702
            optimizer.zero_grad()
            criterion(out, y).backward()
            optimizer.step()
        """,
    "what torch counts has no graph": """
        total = 0
        for x, y in loader:
            optimizer.zero_grad()
            out = model(x)
            loss = criterion(out, y)
            loss.backward()
            optimizer.step()
            total += torch.argmax(out)  # right only
            total += loss  # wrong only, GL701
        """,
    "a state that is made anew has no graph but its own": """
        features = torch.zeros(16, 3, requires_grad=True)
        for k in range(100):
            optimizer.zero_grad()
            criterion(features, dataset.y).backward()
            optimizer.step()
            features = model(dataset.x)  # right only
            features = model(features)  # wrong only, GL702
        """,
    "the norm of weights has no graph": """
        def size(weights):
            total = 0
            for weight in weights:
                total += weight.data.norm() ** 2  # right only
                total += weight.norm() ** 2  # wrong only
            return total

        sizes = 0
        for x, y in loader:
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()
            sizes += size(list(filter(lambda w: w.requires_grad, model.parameters())))
            sizes += loss  # wrong only, GL701
        """,
    "a state is detached where it stands": """
        rnn = nn.GRU(8, 8)
        one = torch.optim.SGD(rnn.parameters(), lr=0.1)
        state = None
        for x, y in loader:
            out, state = rnn(x, state)  # GL702
            one.zero_grad()
            out.mean().backward()
            one.step()
            state.detach_()  # right only
        """,
    "each part of a state is detached where it stands": """
        rnn = nn.LSTM(8, 8)
        one = torch.optim.SGD(rnn.parameters(), lr=0.1)
        state = None
        for x, y in loader:
            out, state = rnn(x, state)  # GL702
            one.zero_grad()
            out.mean().backward()
            one.step()
            for part in state:  # right only
                part.detach_()  # right only
        """,
    "a helper detaches each part": """
        def cut(state):
            [part.detach_() for part in state]

        rnn = nn.LSTM(8, 8)
        one = torch.optim.SGD(rnn.parameters(), lr=0.1)
        state = None
        for x, y in loader:
            out, state = rnn(x, state)  # GL702
            one.zero_grad()
            out.mean().backward()
            one.step()
            cut(state)  # right only
        """,
    "the last of several passes through one graph has nothing to keep it for": """
        head, other = nn.Linear(3, 2), nn.Linear(3, 1)
        both = torch.optim.SGD([*model.parameters(), *head.parameters(), *other.parameters()])
        for x, y in loader:
            found = model(x).relu()
            one, two = F.mse_loss(head(found), y), F.mse_loss(other(found), y)
            both.zero_grad()
            one.backward(retain_graph=True)
            two.backward()  # right only
            two.backward(retain_graph=True)  # wrong only, GL703
            both.step()
        """,
    "what is called again makes another graph": """
        judge = nn.Linear(3, 1)
        both = torch.optim.SGD([*model.parameters(), *judge.parameters()], lr=0.1)
        for x, y in loader:
            made = model(x)
            both.zero_grad()
            judged = judge(made)  # right only
            judged = judge(made.detach())  # wrong only
            F.mse_loss(judged, y).backward(retain_graph=True)  # GL703
            judge(made).mean().backward()
            both.step()
        """,
    "what an earlier round has computed is walked again": """
        for i, (x, y) in enumerate(loader):
            if i % 2 == 0:  # right only
                found = model(x)  # right only
            found = model(x)  # wrong only
            optimizer.zero_grad()
            criterion(found, y).backward(retain_graph=True)  # GL703
            optimizer.step()
        """,
    "what lies in a list is walked in later rounds": """
        judge = nn.Linear(3, 1)
        inner = torch.optim.SGD(judge.parameters(), lr=0.1)
        made = []
        for x, y in loader:
            made.append(model(x))
            optimizer.zero_grad()
            inner.zero_grad()
            judge(x).mean().backward()
            found = judge(made[-1])  # right only
            found = judge(model(x))  # wrong only
            found.mean().backward(retain_graph=True)  # GL703
            optimizer.step()
            inner.step()
        """,
    "a method that is not followed may leave a graph behind": """
        class Pair:
            def __init__(self):
                self.judge, self.made = nn.Linear(3, 1), torch.zeros(1, 3)
                both = [*model.parameters(), *self.judge.parameters()]
                self.both = torch.optim.SGD(both, lr=0.1)

            def forward(self, x):
                self.made = model(x)

            def judged(self, x):
                made = again = self.made  # right only
                made, again = model(x), model(x)  # wrong only
                self.both.zero_grad()
                self.judge(made).mean().backward(retain_graph=True)  # GL703
                self.judge(again).mean().backward()
                self.both.step()

        pair = Pair()
        for x, y in loader:
            pair.forward(x)  # right only
            pair.judged(x)
        """,
    "a derivative that has a graph of its own is of this round": """
        def slope(x):
            x.requires_grad_(True)
            (found,) = torch.autograd.grad(model(x).sum(), x, create_graph=True)
            return found

        def fit():
            for i in range(100):
                loss = slope(torch.rand(16, 8)).pow(2).mean()
                optimizer.zero_grad()
                loss.backward()  # right only
                loss.backward(retain_graph=True)  # wrong only, GL703
                optimizer.step()

        fit()
        """,
    "a graph is kept for the sake of another pass, and no clear": """
        for x, y in loader:
            found = model(x)
            optimizer.zero_grad()
            found.mean().backward(retain_graph=True)
            shown = [p.grad.norm() for p in model.parameters()]  # right only
            optimizer.zero_grad()  # GL201
            criterion(found, y).backward()
            optimizer.step()
        """,
    "torch.autograd.grad walks a graph again": """
        for x, y in loader:
            out = model(x)
            optimizer.zero_grad()
            out.mean().backward(retain_graph=True)  # GL703
            print(torch.autograd.grad(out.sum(), model.parameters()))  # right only
            optimizer.step()
        """,
    "what is computed without gradients is carried without them": """
        class Bank:
            def __init__(self):
                self.mean = torch.zeros(3)

            @torch.no_grad()  # right only
            def update(self, out):
                self.mean = 0.9 * self.mean + 0.1 * out.mean(0)  # GL702

        bank = Bank()
        for x, y in loader:
            out = model(x)
            loss = (out - bank.mean).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            bank.update(out)
        """,
    "a meter that adds without gradients keeps none": """
        class Meter:
            def __init__(self):
                self.total = torch.zeros(())

            @torch.no_grad()  # right only
            def update(self, value):
                self.total += value  # GL701

        meter = Meter()
        for x, y in loader:
            loss = criterion(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            meter.update(loss)
        """,
    "a state may be detached by what maps a function over it": """
        from torch.utils._pytree import tree_map

        net = nn.LSTM(8, 8)
        one = torch.optim.Adam(net.parameters())
        state = (torch.zeros(1, 4, 8), torch.zeros(1, 4, 8))
        for x, y in loader:
            out, state = net(x, state)
            one.zero_grad()
            (out - x).pow(2).mean().backward()
            one.step()
            state = tree_map(lambda part: part.detach(), state)  # right only
            state = tree_map(lambda part: part * 1, state)  # wrong only, GL702
        """,
    "what is taken out of a list again is not kept in it": """
        losses = []
        for x, y in loader:
            loss = criterion(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss)  # GL701
            print(losses.pop().item())  # right only
            print(losses[-1].item())  # wrong only
        """,
    "of what a criterion gives, a rate is a number, and a loss is not": """
        def train_epoch(judge):
            rate = 0.0
            for x, y in loader:
                optimizer.zero_grad()
                loss_dict = judge(model(x), y)
                loss_dict["total_loss"].backward()
                optimizer.step()
                rate += loss_dict["success_rate"] * x.size(0)  # right only
                rate += loss_dict["success_loss"] * x.size(0)  # wrong only, GL701
            return rate
        """,
    "where all others of a dict are asked for their item, one that is not needs none": """
        def train_epoch(judge):
            total, pattern = 0.0, 0.0
            for x, y in loader:
                optimizer.zero_grad()
                losses = judge(model(x), y)
                losses["total_loss"].backward()
                optimizer.step()
                total += losses["total_loss"].item()  # right only
                print(losses["pattern_loss"].item())  # wrong only
                pattern += losses["pattern_loss"]  # GL701
            return total, pattern
        """,
    "what a model's own dict has by its name": """
        class Judge(nn.Module):
            def forward(self, guess, y):
                loss = F.cross_entropy(guess, y)
                hits = (guess.argmax(-1) == y).float().mean().item()
                return {"loss": loss, "hits": hits, "loss_ema": loss.item()}

        judge = Judge()
        shown = 0.0
        for x, y in loader:
            optimizer.zero_grad()
            out = judge(model(x), y)
            out["loss"].backward()
            optimizer.step()
            shown += out["loss_ema"]  # right only
            shown += out["loss"]  # wrong only, GL701
        """,
    "a state that is detached part by part": """
        net = nn.LSTM(8, 3)
        spender = torch.optim.SGD(net.parameters(), lr=0.1)
        state = [torch.zeros(1, 1, 3), torch.zeros(1, 1, 3)]
        for x, y in loader:
            for i in range(len(state)):  # right only
                state[i] = state[i].detach()  # right only
            outputs, state = net(x, state)  # GL702
            spender.zero_grad()
            outputs.mean().backward()
            spender.step()
        """,
    "a sum that is cut off from its graph as it grows": """
        total = 0
        for x, y in loader:
            loss = criterion(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss  # GL701
            total.detach_()  # right only
        """,
    "of several things that a model gives, some are numbers": """
        class Both(nn.Module):
            def __init__(self):
                super().__init__()
                self.entropy = nn.BCEWithLogitsLoss()

            def forward(self, x, y):
                loss = self.entropy(x, y)
                return loss, (loss.item(), 1.0)  # right only
                return loss, (loss, 1.0)  # wrong only

        judge = Both()
        total = 0
        for x, y in loader:
            loss, losses = judge(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += losses[0]  # GL701
        """,
    "a meter for each batch": """
        class Meter:
            def __init__(self):
                self.sum = 0

            def update(self, value):
                self.sum += value  # GL701

        meter = Meter()  # wrong only
        for x, y in loader:
            meter = Meter()  # right only
            loss = criterion(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            meter.update(loss)
            print(meter.sum)
        """,
    "a state that is detached by a method of all tensors": """
        from torch.utils._pytree import tree_map

        def main(loader):
            rnn, out = nn.LSTM(4, 8), nn.Linear(8, 1)
            opt = torch.optim.Adam([*rnn.parameters(), *out.parameters()])
            state = None
            for x, y in loader:
                opt.zero_grad()
                o, state = rnn(x, state)  # GL702
                (out(o) - y).pow(2).mean().backward()
                opt.step()
                state = tree_map(torch.Tensor.detach, state)  # right only
                pass  # wrong only
        """,
}
