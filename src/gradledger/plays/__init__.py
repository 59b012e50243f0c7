"""Plays: a list of steps for the ledger player, each with what every cell holds after it.

`steps` makes the JSON of a step, and `cells` the part that says what the cells hold. The events
come from the checker, which follows a path through a program, or from a recording.
"""
