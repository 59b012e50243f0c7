"""Abstract values: what an expression can be, and what it is where two paths meet."""
