"""A recording as tables, in CSV, for spreadsheets and data frames."""

from gradledger.report.tables.catalogue import TABLES, Source, Table
from gradledger.report.tables.comma_separated import write

__all__ = ["TABLES", "Source", "Table", "write"]
