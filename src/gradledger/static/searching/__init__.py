"""Which files there are to check."""
