"""The audited program as Python sees it: lines, variables, objects. Runs none of its code."""
