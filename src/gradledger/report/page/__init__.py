"""A run as a page: one HTML file that opens offline.

`page` is the entry point. `making` assembles it: the verdict and the run (`overview`, `tables`),
the findings (`findings`, `patches`, `painting`, `rule_texts`), and the data of the charts
(`charts`, `measures`, `packing`). The templates are here. The script and the style come from web/,
and are bundled when the package is built.
"""

from gradledger.report.page.making import MissingBundleError, page

__all__ = ["MissingBundleError", "page"]
