"""``benchwright bench``: the group."""

from ...groups import table_group

COMMANDS = {
    "create": ("bench.benchmark:create", "A new benchmark."),
    "ls": ("bench.benchmark:list_benchmarks", "The catalogue."),
    "show": ("bench.benchmark:show_benchmark", "One benchmark and its subsets."),
    "range": ("bench.benchmark:show_range", "Runs that cover a range of tasks."),
    "delete": ("bench.benchmark:delete", "Delete a benchmark."),
    "subset": ("bench.subset:group", "Subsets: create, append, show, delete."),
    "recipe": ("bench.built:recipe", "A built benchmark's recipe: show, set."),
    "samples": ("bench.built:samples", "A built benchmark's samples: show, set."),
    "impl": ("bench.impl:group", "Scorers: create, ls, show, code, delete."),
}


@table_group("bench", COMMANDS)
def group() -> None:
    """Author benchmarks: subsets, rows, scorers."""
