"""Effects on objects become events on cells, once it is known who owns which parameters."""
