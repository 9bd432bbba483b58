"""What a run will do, fixed at launch; pure. A plan is a tuple of phase names."""

from collections.abc import Sequence

PHASES_OF = {
    "request": ("find", "analyze", "atomize", "materialize", "report"),
    "benchmark": ("materialize", "report"),
    "replay": ("materialize", "report"),
}


def phases(mode: str) -> tuple[str, ...]:
    """The phases of a launch mode, in order. KeyError for a mode that can't run."""
    return PHASES_OF[mode]


def forked(from_phase: str) -> tuple[str, ...]:
    """The phases of a fork: those of a launch in words, from ``from_phase`` on. ValueError for an unknown one."""
    whole = PHASES_OF["request"]
    return whole[whole.index(from_phase) :]


def capped(available: int, *caps: int | None) -> int:
    """How many tasks run: all there are, or the narrowest cap."""
    return min([available, *(cap for cap in caps if cap is not None)])


def sliced(positions: Sequence[int], *caps: int | None) -> list[int]:
    """A slice of the subset in task order, cut by the narrowest cap."""
    ordered = sorted(set(positions))
    return ordered[: capped(len(ordered), *caps)]


def cells(tasks: int, trials: int) -> int:
    """The denominator: every planned cell ends in exactly one outcome."""
    return tasks * trials
