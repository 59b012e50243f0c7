"""Processes that an audited program starts: how they are audited, and how they report.

Read `door` (how a new Python gets to know that it is audited), `child` (what it does then),
`triggers` (what has to happen before it costs anything) and `meeting` (where it leaves what it has
to say).
"""
