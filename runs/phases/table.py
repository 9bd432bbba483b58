"""Which phases there are."""

from kernel.table import Table

PHASES = Table(
    "phase",
    {
        "materialize": "runs.phases.materialize:Materialize",
        "report": "runs.phases.report:Report",
    },
)
