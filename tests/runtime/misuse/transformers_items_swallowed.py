"""A forward that takes **kwargs says it weighs the loss itself, and does not: nobody divides."""
# mypy: ignore-errors

import tempfile
from typing import Any

import torch
from torch import Tensor, nn
from transformers import Trainer, TrainingArguments, set_seed


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))

    def forward(self, x: Tensor, labels: Tensor, **kwargs: Any) -> dict[str, Tensor]:
        out = self.layers(x)
        loss = nn.functional.mse_loss(out, labels)  # GL301: four means are added up
        return {"loss": loss, "logits": out}


set_seed(0)
x = torch.randn(64, 4)
data = [{"x": row, "labels": row.sum(dim=0, keepdim=True)} for row in x]

with tempfile.TemporaryDirectory() as folder:
    arguments = TrainingArguments(
        output_dir=folder,
        num_train_epochs=2,
        per_device_train_batch_size=4,  # 16 batches
        gradient_accumulation_steps=4,
        logging_strategy="no",
        save_strategy="no",
        report_to=[],
        use_cpu=True,
        disable_tqdm=True,
    )
    trainer = Trainer(Net(), arguments, train_dataset=data)
    trainer.train()
