"""The Trainer of Transformers: windows of four, the norm clipped, a warm-up, weighed by tokens."""
# mypy: ignore-errors

import tempfile

import torch
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments, set_seed

set_seed(0)
config = GPT2Config(
    vocab_size=16, n_positions=12, n_embd=8, n_layer=1, n_head=2, bos_token_id=0, eos_token_id=0
)
rows = torch.randint(0, 16, (64, 8))
data = [{"input_ids": row, "labels": row} for row in rows]

with tempfile.TemporaryDirectory() as folder:
    arguments = TrainingArguments(
        output_dir=folder,
        num_train_epochs=2,
        per_device_train_batch_size=4,  # 16 batches
        gradient_accumulation_steps=4,
        max_grad_norm=1.0,
        warmup_steps=2,
        learning_rate=1e-3,
        logging_strategy="no",
        save_strategy="no",
        report_to=[],
        use_cpu=True,
        disable_tqdm=True,
    )
    Trainer(GPT2LMHeadModel(config), arguments, train_dataset=data).train()
