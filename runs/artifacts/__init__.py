"""What a run leaves behind beside its results: a row for each, the bytes in files named by their content."""
