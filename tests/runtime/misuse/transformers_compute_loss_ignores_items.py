"""compute_loss takes the mean of its own batch, and the Trainer takes it for divided already."""
# mypy: ignore-errors

import tempfile
from typing import Any

import torch
from torch import Tensor, nn
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments, set_seed


class Weighted(Trainer):
    def compute_loss(
        self,
        model: nn.Module,
        inputs: dict[str, Tensor],
        return_outputs: bool = False,
        num_items_in_batch: Any = None,
    ) -> Any:
        labels = inputs.pop("labels")
        outputs = model(**inputs)
        logits = outputs.logits[:, :-1].flatten(0, 1)
        loss = nn.functional.cross_entropy(logits, labels[:, 1:].flatten())  # GL301: four means
        return (loss, outputs) if return_outputs else loss


set_seed(0)
config = GPT2Config(
    vocab_size=16, n_positions=12, n_embd=8, n_layer=1, n_head=2, bos_token_id=0, eos_token_id=0
)
data = [{"input_ids": row, "labels": row} for row in torch.randint(0, 16, (64, 8))]

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
    Weighted(GPT2LMHeadModel(config), arguments, train_dataset=data).train()
