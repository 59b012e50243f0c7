"""`gradledger run --live`: a few rows at the bottom of the terminal while a script trains.

The script's streams are not touched: its output scrolls above rows that the terminal keeps out of
the scrolling. Read `panel.py` (when it is painted), `seen.py` (what is on it), `layout.py` (how
that looks), `shelf.py` (the rows) and `screen.py` (the terminal) in this order.
"""
