"""A verdict is kept with its impl: found once for the same bytes, rows and checks, and read by all who use them."""

import random
from collections.abc import Sequence
from typing import Any

from registry import queries as registry
from registry.models import Impl
from runs.compute.base import Compute
from runs.compute.table import COMPUTE
from runs.context import run_async
from runs.selftest.prove import SECONDS, VERSION, Subject, Verdict, prove

MOST_ROWS = 1_000
MOST_BYTES = 32 << 20  # of the rows' text


def prove_impl(
    impl_id: str, *, revision: int | None = None, chance: float | None = None, backend: str = "local",
    seconds: float = SECONDS,
) -> Verdict:  # fmt: skip
    """Prove a registered impl on its subset (all rows, or a fair sample) and keep the verdict with it.

    A good verdict that is there already is returned as it is. ``revision``: of a rolling subset; default its newest.
    Takes up to ``seconds`` and some. Not to be called where an event loop runs. Raises ComputeFault, and
    Impl.DoesNotExist.
    """
    impl = Impl.objects.select_related("subset").get(pk=impl_id)
    kept = kept_verdict(impl, revision)
    if kept is not None:
        return kept
    compute: Compute = COMPUTE[backend]()
    verdict = run_async(prove(subject_of(impl, revision, chance), compute, seconds))
    keep(impl_id, verdict)
    return verdict


def kept_verdict(impl: Impl, revision: int | None = None) -> Verdict | None:
    """The impl's good verdict on these rows by these checks; None where it must be found (again)."""
    found: Verdict | None = impl.verdict
    if found is None or not found.get("ok") or found.get("version") != VERSION:
        return None
    return found if found.get("revision") == (revision or impl.subset.revision) else None


def keep(impl_id: str, verdict: Verdict) -> None:
    Impl.objects.filter(pk=impl_id).update(verdict=verdict)


def subject_of(impl: Impl, revision: int | None = None, chance: float | None = None) -> Subject:
    """The impl and the rows that it is to be proved on."""
    at = revision or impl.subset.revision
    count = registry.task_count(impl.subset_id, at)
    return Subject(
        code=impl.code,
        grader=impl.grader,
        rows=_sample(impl.subset_id, at, count),
        of=count,
        threshold=impl.pass_threshold,
        isolation=impl.isolation,
        judged=impl.judge is not None,
        chance=chance,
        facts={"revision": at},
    )


def rows_of(subset_id: str, revision: int, start: int, count: int) -> list[str]:
    """The JSON texts of rows of a subset, by position from ``start``."""
    rows = registry.task_rows(subset_id, revision, list(range(start, start + count)))
    return [row.row_text for row in rows]


def _sample(subset_id: str, revision: int, count: int) -> Sequence[tuple[str, str]]:
    """Rows in a random order that is the same each time, so that a beginning of them is fair, too."""
    order = random.Random(subset_id).sample(range(count), min(count, MOST_ROWS))  # noqa: S311 - no secret
    rows: dict[int, Any] = {row.position: row for row in registry.task_rows(subset_id, revision, sorted(order))}
    found: list[tuple[str, str]] = []
    size = 0
    for position in order:
        row = rows.get(position)
        if row is None:
            continue
        size += len(row.row_text)
        if found and size > MOST_BYTES:
            break
        found.append((row.task_id, row.row_text))
    return found
