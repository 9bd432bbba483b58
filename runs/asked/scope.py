"""Which of a benchmark's tasks a run ran: what has to be said beside its score wherever that stands."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from uuid import UUID

from django.db.models import prefetch_related_objects

from registry import catalog, queries
from runs import replays
from runs.models import Run
from runs.pages.words import one_line, plural

_CHOSEN = {"only_failed": "chosen by outcome", "only_errored": "chosen by outcome", "task_ids": "chosen by task id"}


@dataclass(frozen=True, slots=True)
class Scope:
    """``tasks`` of the run, ``of`` how many the benchmark has (None: unknown), ``how`` these were taken ("": all)."""

    tasks: int
    of: int | None
    how: str

    @property
    def partial(self) -> bool:
        """Whether a score of these tasks is no score of the benchmark."""
        return bool(self.how)

    @property
    def words(self) -> str:
        """``50 of 1,319 tasks (the first 50)``, ``all 1,319 tasks``."""
        if not self.partial:
            return f"all {self.tasks:,} tasks" if self.tasks > 1 else plural(self.tasks, "task")
        of = f"{self.tasks:,} of {self.of:,} tasks" if self.of else plural(self.tasks, "task")
        return f"{of} ({self.how})"

    @property
    def sentence(self) -> str:
        """``It covers only 50 of 1,319 tasks (the first 50).``; "" where it covers all."""
        if not self.partial:
            return ""
        if not self.of:
            return f"It covers only {self.how}: {plural(self.tasks, 'task')}."
        return f"It covers only {self.tasks:,} of {self.of:,} tasks ({self.how})."

    def document(self) -> dict[str, Any]:
        """As the API answers it."""
        said = {"words": self.words, "sentence": self.sentence}
        return {"tasks": self.tasks, "of": self.of, "partial": self.partial, **said}


def of(run: Run) -> Scope | None:
    """None before its tasks are known."""
    return of_all([run])[run.id]


def of_all(runs: Sequence[Run]) -> dict[UUID, Scope | None]:
    """By run, in two queries for all of them."""
    prefetch_related_objects(runs, "subset")
    chosen = replays.chosen_by([run.id for run in runs if run.task_positions is not None])
    return {run.id: _of(run, chosen.get(run.id)) for run in runs}


def _of(run: Run, chosen: str | None) -> Scope | None:
    """``chosen``: of a slice, by what.

    A subset that a request made knows its benchmark's part and, by the catalogue, how many tasks the whole has.
    """
    if run.subset is None or not run.task_count:
        return None
    held = _held(run)
    source = run.subset.source or {}
    part, size = _of_catalogue(source) if source.get("kind") == "catalogue" else (None, None)
    whole = max(size or 0, held)
    how = _how(run, held, chosen)
    if part is not None:
        how = f"{how} of the part {part}" if how else f"the part {part}"
        known = size if size and size > held else held if run.task_count < held else None
        return Scope(run.task_count, known, how)
    if whole > held:
        how = f"{how} of {held:,} that its source gave" if how else "all that its source gave"
    return Scope(run.task_count, whole, how)


def _how(run: Run, held: int, chosen: str | None) -> str:
    """How the run's tasks were taken of those that its subset holds; "" for all."""
    if run.task_positions is not None:
        return _CHOSEN.get(chosen or "", "a slice")
    return f"the first {run.task_count:,}" if run.task_count < held else ""


def _held(run: Run) -> int:
    """Tasks of the subset's revision that the run took."""
    assert run.subset is not None
    if not run.subset.rolling or run.subset_revision in (None, run.subset.revision):
        return run.subset.task_count
    return _at(run.subset.pk, int(run.subset_revision or 0))


@lru_cache(maxsize=1000)
def _at(subset: str, revision: int) -> int:
    """Tasks of an earlier revision, which never change."""
    return queries.task_count(subset, revision)


def _of_catalogue(source: dict[str, Any]) -> tuple[str | None, int | None]:
    """(the part's name, tasks of the whole). A part that is apart is of no whole."""
    try:
        entry = catalog.get(str(source.get("ref")))
        part = entry.part(str(source["part"])) if source.get("part") else None
    except KeyError:  # no longer in the catalogue
        return (one_line(source["part"], 80) if source.get("part") else None), None
    return (part.name if part else None), None if part and part.apart else entry.size
