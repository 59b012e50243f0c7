"""The folder that PYTHONPATH leads to in processes that an audited program starts."""
