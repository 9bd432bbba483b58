"""What a run asked: which of the benchmark's tasks, and with what."""
