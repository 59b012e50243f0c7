"""Cures: the edits that end a finding, made where they are certain and checked afterwards."""

from gradledger.static.fix.fix import Fixed, fixes

__all__ = ["Fixed", "fixes"]
