"""A scorer proves itself before the first paid call: right answers pass, empty ones don't. See ``prove.py``."""
