"""The playground: one page that runs the checker in the browser, with Pyodide.

`packing` zips the package, `entry` is what the browser calls in it, `examples` are the programs to
pick, and `bundling` makes the page's script from src/ with what npm brings.
"""
