"""The report, the flags and the remedies on the pages of a run."""
