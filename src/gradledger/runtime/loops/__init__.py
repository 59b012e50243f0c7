"""What the training loop does around its passes: data loaders, caught exceptions, sampled steps."""
