"""The text of files: decoded, taken out of notebooks, parsed, or told why not."""
