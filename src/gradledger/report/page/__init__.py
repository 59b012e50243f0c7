"""A run as a page: one HTML file that opens offline.

`page` is the front. `making` puts it together: the verdict and the run (`overview`, `tables`), the
findings (`findings`, `patches`, `painting`, `rule_texts`), and what the charts are drawn from
(`charts`, `measures`, `packing`). The templates are here. The script and the style come from web/,
and are bundled when the package is built.
"""

from gradledger.report.page.making import MissingBundleError, page

__all__ = ["MissingBundleError", "page"]
