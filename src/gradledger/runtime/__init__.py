"""The auditor: torch's own calls become events as they happen.

Each module watches one kind of thing, by reversible patches and hooks; all of them write to one
journal. Read `audit` (who watches), `journal` (what they share), `cells` (what a `.grad` looked
like last), and `backwards` (what a pass really deposited).
"""
