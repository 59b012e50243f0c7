"""What the losses of a window weigh: GL301 to GL303."""

from __future__ import annotations

TWINS = {
    "a batch in one piece is no window": """
        class Trainer:
            def __init__(self, net, pieces=None):
                self.net = net
                self.one = torch.optim.SGD(net.parameters(), lr=0.1)
                self.pieces = 1 if pieces is None else pieces

            def fit(self, data):
                for x, y in data:
                    for a, b in zip(x.chunk(self.pieces), y.chunk(self.pieces)):
                        criterion(self.net(a), b).backward()  # GL301
                    self.one.step()
                    self.one.zero_grad()

        Trainer(model).fit(loader)  # right only
        Trainer(model, 4).fit(loader)  # wrong only
        """,
    "how an Accelerator divides may be said elsewhere": """
        from accelerate import Accelerator

        def fit(net, one, data, accum_steps, **options):
            accelerator = Accelerator(**options)  # right only
            accelerator = Accelerator(gradient_accumulation_steps=accum_steps)  # wrong only
            net, one, data = accelerator.prepare(net, one, data)
            for x, y in data:
                with accelerator.accumulate(net):  # wrong only
                    accelerator.backward(criterion(net(x), y) / accum_steps)  # wrong only, GL303
                    one.step()  # wrong only
                    one.zero_grad()  # wrong only
                accelerator.backward(criterion(net(x), y) / accum_steps)  # right only
                one.step()  # right only
                one.zero_grad()  # right only
        """,
}
