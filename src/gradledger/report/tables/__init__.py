"""A recording as tables, in CSV, for spreadsheets and data frames."""

from gradledger.report.tables.catalogue import TABLES, Source, write

__all__ = ["TABLES", "Source", "write"]
