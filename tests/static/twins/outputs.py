"""Losses among several things that a function or a net gives: GL701."""

from __future__ import annotations

LISTED_METER = """
        class Meter:
            def __init__(self, names):
                self.names = names
                self.reset()

            def reset(self):
                self.last = [0] * len(self.names)
                self.total = [0] * len(self.names)

            def update(self, values):
                if type(values).__name__ == "list":
                    for i, value in enumerate(values):
                        self.last[i] = value
                        self.total[i] += value  # GL701
                else:
                    self.last[0] = values
                    self.total[0] += values
        """

TWINS = {
    "a part of the loss that a function gives, as a number": """
        def losses_of(x, y):
            out = model(x)
            coarse, fine = F.cross_entropy(out, y), out.pow(2).mean()
            return coarse + fine, coarse, fine

        total = 0
        for x, y in loader:
            loss, coarse, fine = losses_of(x, y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += coarse.item()  # right only
            total += coarse  # wrong only, GL701
        """,
    "a function that gives the number of a part": """
        def losses_of(x, y):
            out = model(x)
            coarse, fine = F.cross_entropy(out, y), out.pow(2).mean()
            return coarse + fine, coarse.item(), fine.detach()  # right only
            return coarse + fine, coarse, fine  # wrong only

        total = 0
        for x, y in loader:
            loss, coarse_loss, fine_loss = losses_of(x, y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += coarse_loss  # GL701
        """,
    "parts of a loss that are summed without gradients": """
        def losses_of(x, y):
            out = model(x)
            coarse, fine = F.cross_entropy(out, y), out.pow(2).mean()
            return coarse + fine, coarse, fine

        total = 0
        for x, y in loader:
            loss, coarse_loss, fine_loss = losses_of(x, y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            with torch.no_grad():  # right only
                total += coarse_loss * len(x)  # right only
            total += coarse_loss * len(x)  # wrong only, GL701
        """,
    "a part of the loss in a meter": """
        class Meter:
            def __init__(self):
                self.total = 0

            def update(self, value):
                self.total += value  # GL701

        def losses_of(x, y):
            out = model(x)
            coarse, fine = F.cross_entropy(out, y), out.pow(2).mean()
            return coarse + fine, coarse, fine

        meter = Meter()
        for x, y in loader:
            loss, coarse, fine = losses_of(x, y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            meter.update(float(coarse) * 1000)  # right only
            meter.update(coarse * 1000)  # wrong only
        """,
    "a meter that asks whether it is given a list": LISTED_METER
    + """
        meter = Meter(["loss", "fine"])
        for x, y in loader:
            out = model(x)
            loss, fine = F.cross_entropy(out, y), out.pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            meter.update([loss.item() * 1000, fine.item()])  # right only
            meter.update([loss * 1000, fine.item()])  # wrong only
        """,
    "a runner that keeps the parts of its loss, judged by modules that it makes for each epoch": (
        LISTED_METER
        + """
        class Distance(torch.autograd.Function):
            @staticmethod
            def forward(ctx, one, other):
                ctx.save_for_backward(one, other)
                return (one - other).pow(2), (other - one).pow(2)

            @staticmethod
            def backward(ctx, there, back):
                one, other = ctx.saved_tensors
                return 2 * (one - other) * (there + back), None

        class Far(nn.Module):
            def forward(self, one, other):
                there, back = Distance.apply(one, other)
                return torch.mean(there) + torch.mean(back)

        def made(options):
            net = build(options)
            return net, torch.optim.Adam(net.parameters())

        class Runner:
            def __init__(self, options):
                self.net, self.spender = made(options)
                self.net = nn.DataParallel(self.net)
                self.losses = Meter(["coarse", "fine"])
                self.far = None

            def judge(self):
                self.far = nn.DataParallel(Far().to(device))

            def losses_of(self, x, y):
                coarse, fine = self.net(x)
                coarse_loss = self.far(coarse, y).mean()
                fine_loss = self.far(fine, y).mean()
                return coarse_loss + fine_loss, coarse, coarse_loss, fine_loss

            def train_step(self, x, y):
                loss, _, coarse_loss, fine_loss = self.losses_of(x, y)
                self.net.zero_grad()
                loss.backward()
                self.spender.step()
                self.losses.update([coarse_loss.item(), fine_loss.item()])  # right only
                self.losses.update([coarse_loss * 1000, fine_loss * 1000])  # wrong only

            def run(self):
                for epoch in range(epochs):
                    self.judge()
                    for x, y in loader:
                        self.train_step(x, y)
        """
    ),
    "one of several things that a net gives may be a number, in a meter too": """
        class Meter:
            def __init__(self):
                self.total = 0

            def update(self, value):
                self.total += value  # GL701

        def fit(net, data):
            spender = torch.optim.SGD(net.parameters(), lr=0.1)
            meter = Meter()
            for x, y in data:
                loss, hits = net(x, y)
                net.zero_grad()
                loss.backward()
                spender.step()
                meter.update(hits * 100)  # right only
                meter.update(loss * 100)  # wrong only
        """,
    "a module that counts what is near": """
        class Near(nn.Module):
            def forward(self, out, y):
                return ((out - y).abs() < 0.1).float().mean()  # right only
                return (out - y).abs().mean()  # wrong only

        near = Near()
        total = 0
        for x, y in loader:
            out = model(x)
            optimizer.zero_grad()
            out.pow(2).mean().backward()
            optimizer.step()
            total += near(out, y)  # GL701
        """,
    "a module that judges without gradients": """
        class Error(nn.Module):
            def forward(self, out, y):
                with torch.no_grad():  # right only
                    return self.gap(out, y)  # right only
                return (out - y).abs().mean()  # wrong only

            def gap(self, out, y):
                return (out - y).abs().mean()

        error = Error()
        total = 0
        for x, y in loader:
            out = model(x)
            optimizer.zero_grad()
            out.pow(2).mean().backward()
            optimizer.step()
            total += error(out, y)  # GL701
        """,
    "a teacher that is frozen gives losses without graphs": """
        teacher = nn.Linear(8, 3)
        for p in teacher.parameters():  # right only
            p.requires_grad = False  # right only

        def losses_of(x, y):
            return F.cross_entropy(model(x), y), F.cross_entropy(teacher(x), y)

        total = 0
        for x, y in loader:
            loss, teacher_loss = losses_of(x, y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += teacher_loss  # GL701
        """,
    "a meter that takes lists alone, and is given a tuple": """
        class Meter:
            def __init__(self):
                self.total = [0, 0]

            def update(self, values):
                if type(values) is list:
                    for i, value in enumerate(values):
                        self.total[i] += value  # GL701

        meter = Meter()
        for x, y in loader:
            loss = criterion(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            meter.update((loss, loss))  # right only
            meter.update([loss, loss])  # wrong only
        """,
    "a meter that is set back for each batch": """
        class Meter:
            def __init__(self):
                self.reset()

            def reset(self):
                self.total = 0
                self.count = 0

            def update(self, value):
                self.total += value  # GL701
                self.count += 1

        meter = Meter()
        for x, y in loader:
            meter.reset()  # right only
            loss = criterion(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            meter.update(loss)
            print(meter.total)
        """,
    "a sum that a method begins for each batch": """
        class Runner:
            def __init__(self, net):
                self.net = net
                self.spender = torch.optim.SGD(net.parameters(), lr=0.1)
                self.total = None

            def begin(self):
                self.total = 0

            def fit(self):
                self.begin()
                for x, y in loader:
                    self.begin()  # right only
                    self.spender.zero_grad()
                    loss = F.cross_entropy(self.net(x), y)
                    loss.backward()
                    self.spender.step()
                    self.total += loss  # GL701
                    print(self.total)
        """,
    "a module that judges what was detached": """
        class Gap(nn.Module):
            def forward(self, out, y):
                return (out - y).abs().mean()

        gap = Gap()
        total = 0
        for x, y in loader:
            out = model(x)
            optimizer.zero_grad()
            out.pow(2).mean().backward()
            optimizer.step()
            total += gap(out.detach(), y)  # right only
            total += gap(out, y)  # wrong only, GL701
        """,
    "a loss of nothing but data": """
        total = 0
        for x, y in loader:
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()
            total += criterion(x, y)  # right only
            total += criterion(model(x), y)  # wrong only, GL701
        """,
}
