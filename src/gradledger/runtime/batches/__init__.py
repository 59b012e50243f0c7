"""Which batch a backward pass belongs to, told from the data in its graph."""
