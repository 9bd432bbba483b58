"""Every compute backend by name."""

from kernel.table import Table

COMPUTE = Table("compute", {"local": "runs.compute.local:LocalCompute"})
