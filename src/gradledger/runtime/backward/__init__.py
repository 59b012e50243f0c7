"""Backward passes: what they deposit, where they are called, which graphs outlive their step."""
