"""A run while it goes, its end, and the exit code of it."""
