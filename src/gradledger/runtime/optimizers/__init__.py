"""Optimizers and schedulers: what they own and spend, and parameters that are replaced."""
