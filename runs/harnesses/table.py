"""Which harnesses there are."""

from kernel.table import Table

HARNESSES = Table("harness", {"benchwright": "runs.harnesses.benchwright.harness:Benchwright"})
