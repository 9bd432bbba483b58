"""A language model as driver. It chooses, maps and writes; what it says is checked as a stranger's word."""
