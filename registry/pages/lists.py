"""What the catalogue's pages show: the list of benchmarks, one benchmark, one subset, one scorer."""

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from django.db.models import Aggregate, Count, Q, QuerySet, Sum

from accounts.principal import Principal
from registry import queries, verdicts, visibility
from registry.linting import lint
from registry.models import Benchmark, ImplRegistration

BENCHMARKS, ROWS, MOST = 24, 25, 10**6
_PREVIEW = 300


def start_of(params: Mapping[str, str]) -> int:
    """How many rows a link skips; 0 for anything else."""
    text = params.get("start", "")
    return min(int(text), MOST) if text.isascii() and text.isdigit() and len(text) < 8 else 0


def benchmarks(principal: Principal | None, params: Mapping[str, str]) -> dict[str, Any]:
    """One's own and the public benchmarks, newest first, filtered by words and by whose they are."""
    wanted = params.get("q", "").replace("\x00", "")[:200].strip()
    whose = params["whose"] if params.get("whose") in ("mine", "public") else ""
    start = start_of(params)
    rows = _filtered(principal, wanted, whose).annotate(**_counted(principal)).order_by("-created_at", "-id")
    found = list(rows[start : start + BENCHMARKS + 1])
    filters = {name: value for name, value in (("q", wanted), ("whose", whose)) if value}
    return {
        "rows": [{"one": one, "mine": _owns(principal, one)} for one in found[:BENCHMARKS]],
        "q": wanted,
        "whose": whose,
        "filtered": bool(filters),
        "newer": _link(filters, max(start - BENCHMARKS, 0)) if start else None,
        "older": _link(filters, start + BENCHMARKS) if len(found) > BENCHMARKS else None,
    }


def _counted(principal: Principal | None) -> dict[str, Aggregate]:
    ready = Q(subsets__deleted_at=None, subsets__state="ready")
    seen = Q(subsets__visibility="public")
    if principal is not None:
        seen |= Q(owner=principal.account)
    return {
        "subset_count": Count("subsets", ready & seen),
        "task_total": Sum("subsets__task_count", filter=ready & seen),
    }


def _filtered(principal: Principal | None, wanted: str, whose: str) -> QuerySet[Benchmark]:
    rows = visibility.benchmarks(principal)
    if whose == "mine":
        rows = rows.filter(owner=principal.account) if principal else rows.none()
    elif whose == "public":
        rows = rows.filter(visibility="public")
    if wanted:
        rows = rows.filter(Q(name__icontains=wanted) | Q(category__icontains=wanted) | Q(tags__contains=[wanted]))
    return rows


def _link(filters: Mapping[str, str], start: int) -> str:
    return "?" + urlencode({**filters, **({"start": start} if start else {})})


def _owns(principal: Principal | None, one: Benchmark) -> bool:
    return principal is not None and one.owner_id == principal.account.pk


def benchmark(principal: Principal | None, benchmark_id: str) -> dict[str, Any]:
    """One benchmark with its subsets and their scorers. Raises not_found.

    ``choice``: the first subset that can be run, where a launch has to name one; else "".
    """
    found = queries.benchmark(principal, benchmark_id)
    subsets = list(queries.subsets_of(principal, found))
    scorers: dict[str, int] = {}
    for subset_id in _registrations(principal, found).values_list("impl__subset_id", flat=True):
        scorers[subset_id] = scorers.get(subset_id, 0) + 1
    ready = [one for one in subsets if one.state == "ready"]
    runnable = [one for one in ready if one.task_count and scorers.get(one.pk)]
    return {
        "benchmark": found,
        "mine": _owns(principal, found),
        "subsets": [{"one": one, "scorers": scorers.get(one.pk, 0)} for one in subsets],
        "runnable": bool(runnable),
        "choice": runnable[0].slug if runnable and len(ready) > 1 else "",
    }


def _registrations(principal: Principal | None, one: Benchmark) -> QuerySet[ImplRegistration]:
    return visibility.registrations(principal).filter(impl__subset__benchmark=one)


def subset(principal: Principal | None, subset_id: str, params: Mapping[str, str]) -> dict[str, Any]:
    """One subset with its scorers; its rows for its owner only: answers of others stay with them. Raises not_found."""
    found = queries.subset(principal, subset_id)
    mine = _owns(principal, found.benchmark)
    scorers = list(visibility.registrations(principal).filter(impl__subset=found).order_by("-created_at", "-pk")[:100])
    start = start_of(params)
    rows = queries.task_rows(found.pk, found.revision, start=start, stop=start + ROWS) if mine else []
    return {
        "subset": found,
        "benchmark": found.benchmark,
        "mine": mine,
        "scorers": [{"one": one, "own": principal is not None and one.owner_id == principal.account.pk}
                    for one in scorers],
        "rows": [_row(row.position, row.task_id, row.row_text) for row in rows],
        "grader": json.dumps(found.grader, indent=2, ensure_ascii=False) if found.grader else "",
        "first": start + 1,
        "last": start + len(rows),
        "newer": _link({}, max(start - ROWS, 0)) if start else None,
        "older": _link({}, start + ROWS) if start + ROWS < found.task_count else None,
        "runnable": bool(scorers) and found.state == "ready" and found.task_count > 0,
    }  # fmt: skip


def _row(position: int, task_id: str, text: str) -> dict[str, Any]:
    row = json.loads(text)
    given, expected = row.get("input"), row.get("expected")
    return {
        "number": position + 1,
        "task_id": task_id,
        "input": _short(given),
        "expected": _short(expected),
        "has_expected": expected is not None,
    }


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text[:_PREVIEW]


def scorer(principal: Principal | None, impl_id: str) -> dict[str, Any]:
    """One scorer with its code. Raises not_found."""
    found = queries.registration(principal, impl_id)
    impl = found.impl
    official = bool(queries.official_among([impl.pk]))
    return {
        "registration": found,
        "impl": impl,
        "subset": impl.subset,
        "benchmark": impl.subset.benchmark,
        "official": official,
        "own": principal is not None and found.owner_id == principal.account.pk,
        "lines": impl.code.count("\n") + 1,
        "grader": json.dumps(impl.grader, indent=2, ensure_ascii=False) if impl.grader else "",
        "warnings": lint.of_impl(impl),
        "verdict": verdicts.of_impl(impl, principal),
        "tested": None if impl.verdict is None else datetime.fromisoformat(impl.verdict["at"]),
    }
