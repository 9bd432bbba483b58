"""What follows from a run's visibility: a benchmark is public while one of its runs is."""

from registry import visibility
from runs.models import Run


def follow(run: Run) -> None:
    """Derive the benchmark's visibility anew. Call it in the transaction that changed the run's."""
    if run.benchmark_id is not None:
        public = Run.objects.filter(benchmark=run.benchmark_id, visibility="public", destroyed_at=None).exists()
        visibility.derive(run.benchmark_id, public=public)
