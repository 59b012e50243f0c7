"""Thin adapters to other programs, one for each. None is loaded unless its program is there."""
