"""How processes end, and how several ranks reach one verdict."""
