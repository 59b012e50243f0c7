"""Programs that were written to be right and to look wrong, and were blamed once.

Each is right by the lines marked so, and faulty without them.
"""

from __future__ import annotations

from tests.static.programs import ONE_NET, check, correct, each, everything, faulty, finds, shown

TWO_NETS = """
left, right = nn.Linear(8, 3), nn.Linear(8, 3)
ours, theirs = torch.optim.Adam(left.parameters()), torch.optim.Adam(right.parameters())
"""

GRAPHS = {
    "of several results, each is made of some of what was given": """
        def means(first, second):
            return first.mean(), second.mean()

        for x, y in loader:
            one, other = means(left(x), right(x))  # right only
            one = other = left(x).mean() + right(x).mean()  # wrong only
            one.backward(retain_graph=True)
            ours.step()
            ours.zero_grad()
            other.backward()
            theirs.step()  # GL102
            theirs.zero_grad()
        """,
    "a helper may compute without gradients": """
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
}

STATES = {
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
}

GUARDS = {
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
    "torch.autograd.grad walks a graph again": """
        for x, y in loader:
            out = model(x)
            optimizer.zero_grad()
            out.mean().backward(retain_graph=True)  # GL703
            print(torch.autograd.grad(out.sum(), model.parameters()))  # right only
            optimizer.step()
        """,
}

FAULTS = {
    "a flag tells that a batch has failed": """
        for x, y in loader:
            failed = False  # right only
            try:
                criterion(model(x), y).backward()
            except RuntimeError:
                failed = True  # right only
                print("out of memory")
            if failed:  # right only
                optimizer.zero_grad()  # right only
                continue  # right only
            optimizer.step()  # GL902
            optimizer.zero_grad()
        """,
    "a batch that has failed is done again from the start": """
        for x, y in loader:
            while True:
                try:
                    optimizer.zero_grad()  # right only
                    criterion(model(x), y).backward()
                except RuntimeError:
                    continue
                break
            optimizer.step()  # GL902
            optimizer.zero_grad()  # wrong only
        """,
    "finally clears, whatever has happened": """
        for x, y in loader:
            try:
                criterion(model(x), y).backward()
            except RuntimeError:
                print("out of memory")
            else:  # right only
                optimizer.step()  # right only
            finally:  # right only
                optimizer.zero_grad()  # right only
            optimizer.step()  # wrong only, GL902
            optimizer.zero_grad()  # wrong only
        """,
}

WINDOWS = {
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
}

OBJECTS = {
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
}

OF_ONE = OBJECTS | STATES | GUARDS | FAULTS | WINDOWS


@each(OF_ONE, after=ONE_NET)
def test_nothing_is_said_of_one_net_where_the_reason_stands(text: str) -> None:
    assert shown(check(correct(text))) == set()


@each(OF_ONE, after=ONE_NET)
def test_without_the_reason_the_fault_of_one_net_is_found(text: str) -> None:
    program, expected = faulty(text)
    found = check(program)
    # What is torn, or was for an input, may be told as wasted besides.
    assert finds(found, expected) or expected < everything(found)


@each(GRAPHS, after=ONE_NET + TWO_NETS)
def test_nothing_is_said_of_two_nets_where_the_reason_stands(text: str) -> None:
    assert shown(check(correct(text))) == set()


@each(GRAPHS, after=ONE_NET + TWO_NETS)
def test_without_the_reason_the_fault_of_two_nets_is_found(text: str) -> None:
    program, expected = faulty(text)
    assert expected <= shown(check(program))
