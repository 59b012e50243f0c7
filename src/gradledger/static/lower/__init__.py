"""Source to programs of effects: statements, expressions and calls of the project's own code."""
