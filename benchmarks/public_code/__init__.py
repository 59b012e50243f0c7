"""The checker on public repositories: compared with another checkout, scored against labels.

`python -m benchmarks.public_code` has the commands. The repositories are not a part of the project:
each command takes a folder that has them.
"""
