"""The language server: findings, explanations and fixes in editors, while people type."""
