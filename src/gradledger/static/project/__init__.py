"""The files that belong together: modules, what they define and what they import."""
