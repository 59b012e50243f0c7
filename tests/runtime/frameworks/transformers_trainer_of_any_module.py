"""A module of one's own under the Trainer, with a loss of one's own, in bf16, evaluated."""
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

    def forward(self, x: Tensor, labels: Tensor) -> dict[str, Tensor]:
        out = self.layers(x)
        return {"loss": nn.functional.mse_loss(out, labels), "logits": out}


class Weighted(Trainer):
    def compute_loss(
        self, model: nn.Module, inputs: dict[str, Tensor], *arguments: Any, **options: Any
    ) -> Tensor:
        outputs = model(**inputs)
        loss = outputs["loss"] + 0.01 * outputs["logits"].pow(2).mean()
        return (loss, outputs) if options.get("return_outputs") else loss


set_seed(0)
x = torch.randn(64, 4)
data = [{"x": row, "labels": row.sum(dim=0, keepdim=True)} for row in x]

with tempfile.TemporaryDirectory() as folder:
    arguments = TrainingArguments(
        output_dir=folder,
        num_train_epochs=2,
        per_device_train_batch_size=4,
        gradient_accumulation_steps=4,
        eval_strategy="epoch",
        logging_strategy="no",
        save_strategy="no",
        report_to=[],
        use_cpu=True,
        bf16=True,
        disable_tqdm=True,
    )
    Weighted(Net(), arguments, train_dataset=data, eval_dataset=data[:8]).train()
