"""The phases of a run: a file each, one table."""
