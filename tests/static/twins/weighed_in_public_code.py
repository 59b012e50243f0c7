"""Weights that were missed in a reading of public code: means, windows of 1, a second division."""

from __future__ import annotations

_WINDOW = """
            if (i + 1) % n == 0 or i + 1 == len(loader):
                optimizer.step()
                optimizer.zero_grad()
"""


def _window(before: str) -> str:
    """A window of n micro-batches that ends with the data; before it, how the loss is made."""
    return f"{before}{_WINDOW}"


TWINS = {
    "means in a dict are summed up": _window("""
        n = 4
        for i, (x, y) in enumerate(loader):
            out = model(x)
            losses = {"class": criterion(out, y), "size": out.pow(2).mean()}
            loss = sum(losses.values())
            loss = loss / n  # right only
            loss.backward()  # GL301
        """),
    "means are weighed by options that have nothing in common": _window("""
        from options import settings
        n = 4
        class Both(nn.Module):
            def __init__(self, share=0.5):
                super().__init__()
                self.share = share

            def forward(self, out, y):
                size = 1 - out.pow(2).mean()
                return self.share * F.cross_entropy(out, y) + (1 - self.share) * size

        both = Both()
        for i, (x, y) in enumerate(loader):
            out = model(x)
            loss = settings.a * both(out, y) + settings.b * out.abs().mean()
            loss = loss / n  # right only
            loss.backward()  # GL301
        """),
    "terms that have one factor in common may be divided by it": _window("""
        from options import scale, a
        n = 4
        for i, (x, y) in enumerate(loader):
            out = model(x)
            loss = scale * a * criterion(out, y) + scale * out.pow(2).mean()  # right only
            loss = a * criterion(out, y) + scale * out.pow(2).mean()  # wrong only
            loss.backward()  # GL301
        """),
    "a window whose size is a class attribute of 1": """
        class Config:
            accumulate = 1

        for i, (x, y) in enumerate(loader):
            loss = criterion(model(x), y)
            loss = loss / Config.accumulate  # right only
            loss.backward()  # GL301
            if (i + 1) % Config.accumulate == 0 or i + 1 == len(loader):
                optimizer.step()
                optimizer.zero_grad()
        """,
    "a window whose size is a literal of 1": _window("""
        n = 1
        for i, (x, y) in enumerate(loader):
            loss = criterion(model(x), y)
            loss = loss / n  # right only
            loss.backward()  # GL301"""),
    "a model computes its own mean": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = nn.Linear(8, 3)

            def forward(self, x, y):
                out = self.layer(x)
                return out, F.cross_entropy(out, y)

        net, n = Net(), 4
        learner = torch.optim.SGD(net.parameters(), lr=0.1)
        for i, (x, y) in enumerate(loader):
            _, loss = net(x, y)
            loss = loss / n  # right only
            loss.backward()  # GL301
            if (i + 1) % n == 0 or i + 1 == len(loader):
                learner.step()
                learner.zero_grad()
        """,
    "the outputs of a transformer have a mean loss": """
        from transformers import AutoModelForCausalLM

        net, n = AutoModelForCausalLM.from_pretrained("gpt2"), 4
        learner = torch.optim.AdamW(net.parameters())
        for i, batch in enumerate(loader):
            outputs = net(**batch)
            loss = outputs.loss
            loss = loss / n  # right only
            loss.backward()  # GL301
            if (i + 1) % n == 0 or i + 1 == len(loader):
                learner.step()
                learner.zero_grad()
        """,
    "a helper computes the mean": _window("""
        n = 4

        def compute_loss(x, y):
            return {"loss": F.cross_entropy(model(x), y)}

        for i, (x, y) in enumerate(loader):
            loss = compute_loss(x, y)["loss"]
            loss = loss / n  # right only
            loss.backward()  # GL301"""),
    "a mean times a ratio": _window("""
        n, ratio = 4, 0.5
        for i, (x, y) in enumerate(loader):
            loss = ratio * criterion(model(x), y)
            loss = loss / n  # right only
            loss.backward()  # GL301"""),
    "a mean that a criterion computes which is passed in": """
        def train(net, criterion, spender, n=4):
            for i, (x, y) in enumerate(loader):
                loss = criterion(net(x), y)
                loss = loss / n  # right only
                loss.backward()  # GL301
                if (i + 1) % n == 0 or i + 1 == len(loader):
                    spender.step()
                    spender.zero_grad()

        train(model, nn.CrossEntropyLoss(), optimizer)
        """,
    "Accelerate divides, and so does the code": """
        from accelerate import Accelerator

        accelerator = Accelerator(gradient_accumulation_steps=4)
        net, spender, batches = accelerator.prepare(model, optimizer, loader)
        for x, y in batches:
            with accelerator.accumulate(net):
                loss = criterion(net(x), y)
                loss = loss / 4  # wrong only, GL303
                accelerator.backward(loss)
                spender.step()
                spender.zero_grad()
        """,
    "Accelerate divides, and the code by another name": """
        from accelerate import Accelerator

        def train(args):
            accelerator = Accelerator(gradient_accumulation_steps=args.accumulate)
            net, spender, batches = accelerator.prepare(model, optimizer, loader)
            parts = args.accumulate
            for x, y in batches:
                with accelerator.accumulate(net):
                    loss = criterion(net(x), y)
                    loss = loss / parts  # wrong only, GL303
                    accelerator.backward(loss)
                    spender.step()
                    spender.zero_grad()
        """,
    "Accelerate divides, and as many losses are averaged": """
        from accelerate import Accelerator

        def train(batches):
            losses, parts = 4, 4
            accelerator = Accelerator(gradient_accumulation_steps=parts)
            net, spender, batches = accelerator.prepare(model, optimizer, batches)
            for x, y in batches:
                with accelerator.accumulate(net):
                    loss = criterion(net(x), y)
                    loss = loss / losses  # right only
                    loss = loss / parts  # wrong only, GL303
                    accelerator.backward(loss)
                    spender.step()
                    spender.zero_grad()
        """,
    "DeepSpeed divides, and so does the code": """
        import deepspeed

        def train(args):
            engine, _, _, _ = deepspeed.initialize(args=args, model=model, optimizer=optimizer)
            for x, y in loader:
                loss = criterion(engine(x), y)
                loss = loss / engine.gradient_accumulation_steps()  # wrong only, GL303
                engine.backward(loss)
                engine.step()
        """,
    "the Trainer divides, and so does compute_loss": """
        from transformers import Trainer

        class Mine(Trainer):
            def compute_loss(self, model, inputs, return_outputs=False, **kwargs):
                outputs = model(**inputs)
                loss = outputs.loss
                loss = loss / self.args.gradient_accumulation_steps  # wrong only, GL303
                return (loss, outputs) if return_outputs else loss
        """,
    "Lightning divides, and so does training_step": """
        import lightning as L

        class Net(L.LightningModule):
            def __init__(self):
                super().__init__()
                self.layer = nn.Linear(8, 3)

            def training_step(self, batch, index):
                x, y = batch
                loss = F.cross_entropy(self.layer(x), y)
                loss = loss / self.trainer.accumulate_grad_batches  # wrong only, GL303
                return loss

            def configure_optimizers(self):
                return torch.optim.SGD(self.parameters(), lr=0.1)
        """,
    "the Trainer divides, and compute_loss by another name": """
        from transformers import Trainer, TrainingArguments

        parts = 8

        class Mine(Trainer):
            def compute_loss(self, model, inputs, return_outputs=False, **kwargs):
                outputs = model(**inputs)
                loss = outputs.loss
                loss = loss / parts  # wrong only, GL303
                return (loss, outputs) if return_outputs else loss

        arguments = TrainingArguments("out", gradient_accumulation_steps=parts)
        Mine(model, arguments, train_dataset=dataset).train()
        """,
    "Lightning divides, and training_step by another name": """
        import lightning as L

        parts = 4

        class Net(L.LightningModule):
            def __init__(self):
                super().__init__()
                self.layer = nn.Linear(8, 3)

            def training_step(self, batch, index):
                x, y = batch
                loss = F.cross_entropy(self.layer(x), y)
                loss = loss / parts  # wrong only, GL303
                return loss

            def configure_optimizers(self):
                return torch.optim.SGD(self.parameters(), lr=0.1)

        L.Trainer(accumulate_grad_batches=parts).fit(Net(), loader)
        """,
}
"""The first of a pair is silent; in the second the fault is found."""
