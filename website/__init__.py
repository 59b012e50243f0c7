"""Builds the website: `python -m website.build` writes build/site from docs/ and website/pages."""
