"""Ten batches of padded lines in windows of four: the Trainer divides each by its own tokens."""
# mypy: ignore-errors

import tempfile

import torch
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments, set_seed

set_seed(0)
config = GPT2Config(
    vocab_size=16, n_positions=12, n_embd=8, n_layer=1, n_head=2, bos_token_id=0, eos_token_id=0
)
data = []
for row in torch.randint(0, 16, (40, 8)):
    labels = row.clone()
    labels[int(torch.randint(3, 8, ())) :] = -100
    data.append({"input_ids": row, "labels": labels})

with tempfile.TemporaryDirectory() as folder:
    arguments = TrainingArguments(
        output_dir=folder,
        num_train_epochs=2,
        per_device_train_batch_size=4,
        gradient_accumulation_steps=4,
        logging_strategy="no",
        save_strategy="no",
        report_to=[],
        use_cpu=True,
        disable_tqdm=True,
    )
    Trainer(GPT2LMHeadModel(config), arguments, train_dataset=data).train()
