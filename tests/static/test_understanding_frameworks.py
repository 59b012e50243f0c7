"""Who owns the cycle: what a framework clears, divides and steps is no business of the code."""

from __future__ import annotations

from tests.static.programs import check, correct, each, faulty, finds, shown

LIGHTNING = {
    "Lightning clears and steps by itself, and divides by the window": """
        import lightning as L
        import torch
        from torch import nn

        class Net(L.LightningModule):
            def __init__(self):
                super().__init__()
                self.net = nn.Linear(8, 3)

            def training_step(self, batch, batch_idx):
                x, y = batch
                loss = nn.functional.cross_entropy(self.net(x), y)
                loss = loss / self.trainer.accumulate_grad_batches  # wrong only, GL303
                return loss

            def configure_optimizers(self):
                return torch.optim.Adam(self.parameters())

        L.Trainer(accumulate_grad_batches=4).fit(Net())
        """,
    "manual optimisation does the whole cycle": """
        import lightning as L
        import torch
        from torch import nn

        class Net(L.LightningModule):
            def __init__(self):
                super().__init__()
                self.automatic_optimization = False
                self.net = nn.Linear(8, 3)

            def training_step(self, batch, batch_idx):
                x, y = batch
                optimizer = self.optimizers()
                optimizer.zero_grad()  # right only
                self.manual_backward(nn.functional.cross_entropy(self.net(x), y))
                optimizer.step()  # GL101

            def configure_optimizers(self):
                return torch.optim.Adam(self.parameters())
        """,
    "manual optimisation with two optimizers clears both": """
        import pytorch_lightning as pl
        import torch
        from torch import nn

        class Gan(pl.LightningModule):
            def __init__(self):
                super().__init__()
                self.automatic_optimization = False
                self.generator = nn.Linear(8, 8)
                self.critic = nn.Linear(8, 1)

            def training_step(self, batch, batch_idx):
                opt_g, opt_d = self.optimizers()
                noise = torch.randn(16, 8)
                self.toggle_optimizer(opt_g)
                opt_g.zero_grad()
                self.manual_backward(-self.critic(self.generator(noise)).mean())
                opt_g.step()
                self.untoggle_optimizer(opt_g)
                self.toggle_optimizer(opt_d)
                opt_d.zero_grad()  # right only
                fake = self.generator(noise).detach()
                self.manual_backward((self.critic(fake) - self.critic(batch)).mean())
                opt_d.step()  # GL101
                self.untoggle_optimizer(opt_d)

            def configure_optimizers(self):
                opt_g = torch.optim.Adam(self.generator.parameters())
                opt_d = torch.optim.Adam(self.critic.parameters())
                return [opt_g, opt_d], []
        """,
    "Fabric's backward is a deposit like any other": """
        import torch
        from lightning.fabric import Fabric
        from torch import nn

        fabric = Fabric(accelerator="cpu")
        model = nn.Linear(8, 3)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        model, optimizer = fabric.setup(model, optimizer)
        loader = fabric.setup_dataloaders(torch.utils.data.DataLoader(range(100)))
        for x, y in loader:
            optimizer.zero_grad()  # right only
            fabric.backward(nn.functional.cross_entropy(model(x), y))
            optimizer.step()  # GL101
        """,
}

ACCELERATE = {
    "Accelerate divides inside of accumulate": """
        import torch
        from accelerate import Accelerator
        from torch import nn
        from data import loader

        accelerator = Accelerator(gradient_accumulation_steps=4)
        model = nn.Linear(8, 3)
        optimizer = torch.optim.AdamW(model.parameters())
        model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
        for x, y in loader:
            with accelerator.accumulate(model):
                loss = nn.functional.cross_entropy(model(x), y)
                loss = loss / accelerator.gradient_accumulation_steps  # wrong only, GL303
                accelerator.backward(loss)
                optimizer.step()
                optimizer.zero_grad()
        """,
    "Accelerate does not clear of its own accord": """
        import torch
        from accelerate import Accelerator
        from torch import nn
        from data import loader

        accelerator = Accelerator()
        model = nn.Linear(8, 3)
        optimizer = torch.optim.AdamW(model.parameters())
        model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
        for x, y in loader:
            accelerator.backward(nn.functional.cross_entropy(model(x), y))
            optimizer.step()  # GL101
            optimizer.zero_grad()  # right only
        """,
    "a clip inside of accumulate waits for the window": """
        import torch
        from accelerate import Accelerator
        from torch import nn
        from data import loader

        accelerator = Accelerator(gradient_accumulation_steps=4)
        model = nn.Linear(8, 3)
        optimizer = torch.optim.AdamW(model.parameters())
        model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
        for x, y in loader:
            with accelerator.accumulate(model):
                accelerator.backward(nn.functional.cross_entropy(model(x), y))
                if accelerator.sync_gradients:
                    accelerator.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()  # GL101
                optimizer.zero_grad()  # right only
        """,
}

OTHERS = {
    "the Trainer divides what compute_loss returns": """
        import torch
        from transformers import Trainer

        class Weighted(Trainer):
            def compute_loss(self, model, inputs, return_outputs=False, **kwargs):
                outputs = model(**inputs)
                loss = torch.nn.functional.cross_entropy(outputs.logits, inputs["labels"])
                loss = loss / self.args.gradient_accumulation_steps  # wrong only, GL303
                return (loss, outputs) if return_outputs else loss
        """,
    "apex unscales at the end of its block": """
        import torch
        from apex import amp
        from torch import nn
        from data import loader

        model = nn.Linear(8, 3).cuda()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        model, optimizer = amp.initialize(model, optimizer, opt_level="O1")
        for x, y in loader:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(x), y)
            with amp.scale_loss(loss, optimizer) as scaled:
                scaled.backward()
                nn.utils.clip_grad_norm_(model.parameters(), 1.0)  # wrong only, GL401
            nn.utils.clip_grad_norm_(amp.master_params(optimizer), 1.0)  # right only
            optimizer.step()
        """,
    "ignite calls the update function for each batch": """
        import torch
        from ignite.engine import Engine
        from torch import nn
        from data import loader

        model = nn.Linear(8, 3)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

        def update(engine, batch):
            x, y = batch
            model.train()
            optimizer.zero_grad()  # right only
            loss = nn.functional.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()  # GL101
            return loss.item()

        Engine(update).run(loader, max_epochs=5)
        """,
    "SAM takes two passes and two steps for each batch": """
        import torch
        from sam import SAM
        from torch import nn
        from data import loader

        model = nn.Linear(8, 3)
        optimizer = SAM(model.parameters(), torch.optim.SGD, lr=0.1)
        for x, y in loader:
            nn.functional.cross_entropy(model(x), y).backward()
            optimizer.first_step(zero_grad=True)
            nn.functional.cross_entropy(model(x), y).backward()
            optimizer.second_step(zero_grad=True)  # right only
            optimizer.second_step()  # wrong only, GL101
        """,
}

TWINS = {**LIGHTNING, **ACCELERATE, **OTHERS}

CORRECT = {
    "a DeepSpeed engine clears by itself": """
        import deepspeed
        import torch
        from torch import nn
        from data import args, loader

        model = nn.Linear(8, 3)
        engine, optimizer, _, _ = deepspeed.initialize(args=args, model=model)
        for x, y in loader:
            loss = nn.functional.cross_entropy(engine(x), y)
            engine.backward(loss)
            engine.step()
        """,
    "fastai keeps the cycle in its learner": """
        from fastai.vision.all import *

        class Doubled(Callback):
            def after_loss(self):
                self.learn.loss_grad *= 2

            def after_backward(self):
                nn.utils.clip_grad_norm_(self.learn.model.parameters(), 1.0)

        learn = Learner(dls, model, cbs=[Doubled()])
        learn.fit_one_cycle(3)
        """,
    "the Trainer needs no loop": """
        import torch
        from transformers import Trainer, TrainingArguments
        from data import model, train_set

        arguments = TrainingArguments("out", gradient_accumulation_steps=4)
        Trainer(model=model, args=arguments, train_dataset=train_set).train()
        """,
    "automatic optimisation with a scheduler of its own": """
        import lightning as L
        import torch
        from torch import nn

        class Net(L.LightningModule):
            def __init__(self):
                super().__init__()
                self.net = nn.Linear(8, 3)

            def training_step(self, batch, batch_idx):
                x, y = batch
                loss = nn.functional.cross_entropy(self.net(x), y)
                self.log("loss", loss)
                return loss

            def optimizer_step(self, *args, **kwargs):
                super().optimizer_step(*args, **kwargs)

            def configure_optimizers(self):
                optimizer = torch.optim.Adam(self.parameters())
                return [optimizer], [torch.optim.lr_scheduler.StepLR(optimizer, 5)]
        """,
    "optimizers of other libraries have other laws": """
        import paddle
        import torch
        from data import loader

        model = paddle.nn.Linear(8, 3)
        optimizer = paddle.optimizer.Adam(parameters=model.parameters())
        for x, y in loader:
            loss = paddle.nn.functional.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
        """,
    "a step without gradients is nobody's business": """
        import torch
        from torch import nn
        from data import loader

        class Annealer:
            def __init__(self):
                self.temperature = 1.0

            def step(self):
                self.temperature *= 0.99

        annealer = Annealer()
        model = nn.Linear(8, 3)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for x, y in loader:
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(x) / annealer.temperature, y).backward()
            optimizer.step()
            annealer.step()
            annealer.step()
        """,
}

FALSE_ALARMS: dict[str, str] = {}
MISSED = {
    "SAM takes two passes and two steps for each batch": (
        "what second_step() leaves is only read by first_step(), which may see scaled or local ones"
    ),
}


@each({**TWINS, **CORRECT}, wrong=FALSE_ALARMS)
def test_nothing_is_said_of_the_correct_program(text: str) -> None:
    assert shown(check(correct(text.lstrip()))) == set()


@each(TWINS, wrong=MISSED)
def test_the_fault_is_found_in_its_line_and_nothing_else(text: str) -> None:
    program, expected = faulty(text.lstrip())
    assert finds(check(program), expected)
