"""Plays: what happened step by step, with what every cell held after it, for people to look at.

`steps` makes the JSON of a step that the ledger player shows, `cells` what the cells hold in it.
Where the events come from is for others: the checker follows a path through a program, and a report
has a recording.
"""
