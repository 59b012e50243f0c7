"""Gradients on several ranks: FSDP1, FSDP2, DDP and averages made by hand."""
