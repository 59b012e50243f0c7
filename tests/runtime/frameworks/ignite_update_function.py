"""An update function of one's own: clipping, and a scheduler that moves on events."""
# mypy: ignore-errors

import torch
from ignite.engine import Engine, Events
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(64, 4)
loader = DataLoader(TensorDataset(x, x.argmax(dim=1)), batch_size=16, shuffle=True)
model = nn.Linear(4, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.5)


def update(engine: Engine, batch: list[Tensor]) -> float:
    model.train()
    inputs, labels = batch
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = nn.functional.cross_entropy(model(inputs), labels)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    return loss.item()


trainer = Engine(update)
trainer.add_event_handler(Events.EPOCH_COMPLETED, lambda: scheduler.step())
trainer.run(loader, max_epochs=3)
