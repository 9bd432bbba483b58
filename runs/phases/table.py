"""Which phases there are."""

from kernel.table import Table

PHASES = Table(
    "phase",
    {
        "find": "runs.phases.find:Find",
        "analyze": "runs.phases.analyze:Analyze",
        "atomize": "runs.phases.atomize:Atomize",
        "materialize": "runs.phases.materialize:Materialize",
        "report": "runs.phases.report:Report",
    },
)
