"""From a command line to a run that was launched once."""
