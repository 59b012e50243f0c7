"""A model of Transformers in a loop of one's own, with its linear warm-up."""
# mypy: ignore-errors

import torch
from torch.utils.data import DataLoader
from transformers import (
    GPT2Config,
    GPT2LMHeadModel,
    get_linear_schedule_with_warmup,
    set_seed,
)

set_seed(0)
config = GPT2Config(
    vocab_size=16, n_positions=12, n_embd=8, n_layer=1, n_head=2, bos_token_id=0, eos_token_id=0
)
model = GPT2LMHeadModel(config)
loader = DataLoader(torch.randint(0, 16, (32, 8)), batch_size=4, shuffle=True)  # 8 batches
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
scheduler = get_linear_schedule_with_warmup(optimizer, num_warmup_steps=2, num_training_steps=8)
accumulate = 2

for _epoch in range(2):
    for i, rows in enumerate(loader):
        loss = model(input_ids=rows, labels=rows).loss
        (loss / accumulate).backward()
        if (i + 1) % accumulate == 0:
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad()
