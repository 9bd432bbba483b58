"""The demonstration: a real model on real benchmark rows, through the SDK and nothing else."""
