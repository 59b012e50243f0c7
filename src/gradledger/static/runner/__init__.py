"""Many files: in parallel, each once, and what the cache remembers of them."""
