"""What public runs would have made public, without a run."""

from registry.models import Benchmark, Impl, Subset


def everything() -> None:
    for model in (Benchmark, Subset, Impl):
        model.objects.update(visibility="public")


def benchmark(benchmark_id: str) -> None:
    """With all that it has now."""
    Benchmark.objects.filter(pk=benchmark_id).update(visibility="public")
    Subset.objects.filter(benchmark=benchmark_id).update(visibility="public")
    Impl.objects.filter(subset__benchmark=benchmark_id).update(visibility="public")
