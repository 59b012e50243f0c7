"""Plays: one path through a program of events, step by step, for people to look at.

`walk` chooses the path, `cells` says what the cells hold on it, `play` makes the JSON that the
website's player shows.
"""
