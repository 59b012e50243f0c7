"""Plays: one path through a program of events, step by step, for people to look at.

`walk` chooses the path, and `play` makes the JSON that the ledger player shows.
"""
