from typing import Any

from django.db import migrations, transaction

_TERMINAL = ("ok", "failed", "halted")


def derive(apps: Any, schema_editor: Any) -> None:
    """Show the subsets and scorers that public runs used. A benchmark at a time, so that no lock is held for long."""
    run, benchmark = apps.get_model("runs", "Run"), apps.get_model("registry", "Benchmark")
    subset, impl = apps.get_model("registry", "Subset"), apps.get_model("registry", "Impl")
    for benchmark_id in list(benchmark.objects.filter(visibility="public").values_list("pk", flat=True)):
        with transaction.atomic():
            benchmark.objects.select_for_update(no_key=True).filter(pk=benchmark_id).values_list("pk").first()
            public = run.objects.filter(benchmark=benchmark_id, visibility="public", destroyed_at=None)
            shown = public.exclude(status__in=_TERMINAL, passed=0, failed=0, unscored=0)
            used = list(shown.values_list("subset_id", "impl_id").distinct())
            subset.objects.filter(benchmark=benchmark_id, pk__in={one for one, _ in used}).update(visibility="public")
            impl.objects.filter(subset__benchmark=benchmark_id, pk__in={one for _, one in used}).update(visibility="public")


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("runs", "0001_initial"), ("registry", "0002_derived_visibility")]
    operations = [migrations.RunPython(derive, migrations.RunPython.noop, elidable=True)]
