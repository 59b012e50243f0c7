"""Right programs that look like faulty ones, and say or show that they mean it."""

from __future__ import annotations

PROBES = {
    "a probe is cleared, and a comment says so": """
        for i, (x, y) in enumerate(loader):
            if i % 100 == 0:
                criterion(model(x[:2]), y[:2]).backward()
                # a fake step: its gradients are only a probe of memory, and dropped
                optimizer.zero_grad()
            criterion(model(x), y).backward()
            optimizer.step()
            optimizer.zero_grad()
        """,
    "a benchmark of step alone": """
        import time

        def benchmark_step(steps):
            criterion(model(torch.randn(16, 8)), torch.zeros(16).long()).backward()
            start = time.perf_counter()
            for _ in range(steps):
                optimizer.step()  # the same gradients each time: only the time of a step counts
            return (time.perf_counter() - start) / steps
        """,
    "the head alone is cleared, and the body computes without a graph": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.body, self.head = nn.Linear(8, 8), nn.Linear(8, 3)

            def forward(self, x):
                with torch.no_grad():
                    out = self.body(x)
                return self.head(out)

        net = Net()
        learner = torch.optim.SGD(net.parameters(), lr=0.1)
        for x, y in loader:
            net.head.zero_grad()
            criterion(net(x), y).backward()
            learner.step()
        """,
    "the head alone is cleared, and all else is frozen": """
        from torchvision.models import resnet18

        net = resnet18()
        for name, p in net.named_parameters():
            p.requires_grad_(name.startswith("fc"))
        learner = torch.optim.SGD(net.parameters(), lr=0.1)
        for x, y in loader:
            net.fc.zero_grad()
            criterion(net(x), y).backward()
            learner.step()
        """,
    "the head alone is cleared, and something else that is not followed": """
        from torchvision.models import resnet18

        net = resnet18()
        learner = torch.optim.SGD(net.parameters(), lr=0.1)
        for x, y in loader:
            net.fc.zero_grad()
            for layer in net.children():
                layer.zero_grad()
            criterion(net(x), y).backward()
            learner.step()
        """,
    "a backward is tried again until it is finite": """
        for x, y in loader:
            for attempt in range(3):
                optimizer.zero_grad()
                loss = criterion(model(x + torch.randn(16, 8)), y)
                loss.backward()
                if torch.isfinite(loss):
                    break
            optimizer.step()
        """,
    "an example is searched for before the step": """
        for x, y in loader:
            worst = x.clone().requires_grad_()
            for _ in range(5):
                optimizer.zero_grad()
                criterion(model(worst), y).backward()
                worst.data += worst.grad.sign()
            optimizer.zero_grad()
            criterion(model(worst), y).backward()
            optimizer.step()
        """,
    "what is in a list goes to the optimizer one by one": """
        class Weighted(nn.Module):
            def __init__(self):
                super().__init__()
                self.weight = nn.Parameter(torch.ones(3))

            def forward(self, out, y):
                return (F.cross_entropy(out, y, reduction="none") * self.weight.sum()).mean()

        criteria = [nn.CrossEntropyLoss(), Weighted()]
        learner = torch.optim.Adam(model.parameters())
        for each in criteria:
            learner.add_param_group({"params": each.parameters()})
        for x, y in loader:
            learner.zero_grad()
            sum(each(model(x), y) for each in criteria).backward()
            learner.step()
        """,
    "two names for whether there is a scale": """
        def train(amp):
            scaler = torch.amp.GradScaler() if amp else None
            for x, y in loader:
                optimizer.zero_grad()
                loss = criterion(model(x), y)
                if amp:
                    loss = scaler.scale(loss)
                loss.backward()
                if scaler is not None:
                    scaler.step(optimizer)
                    scaler.update()
                else:
                    optimizer.step()
        """,
}
"""Deliberate, by a comment, a name, or what the code around does."""
