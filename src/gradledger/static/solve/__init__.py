"""Programs of events to a fixpoint: what can happen on every path, and what the rules say to it."""
