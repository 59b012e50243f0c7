"""All the files, in parallel, and what is remembered of them."""
