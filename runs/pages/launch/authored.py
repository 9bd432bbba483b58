"""What the authoring phases found, for the run page."""

from collections.abc import Iterator, Mapping
from typing import Any

from runs.asked import sampling
from runs.models import Run


def of(run: Run) -> dict[str, Any] | None:
    """Facts, risks and the scorer's self-test; None for a run that was launched without words."""
    if not run.findings:
        return None
    rows, scorer, probed = (_part(run, name) for name in ("analyze", "atomize", "materialize"))
    verdict = scorer.get("verdict") or {}
    return {
        "facts": [(name, said) for name, said in _facts(run) if said],
        "risks": [
            str(risk.get("words") or risk) for risk in [*(probed.get("exceeds") or []), *(rows.get("risks") or [])]
        ],
        "badge": str(verdict.get("badge") or ""),
        "checks": [dict(check) for check in verdict.get("checks") or []],
    }


def _part(run: Run, name: str) -> Mapping[str, Any]:
    """What a phase found; of Analyze, while its plan waits to be approved, that plan."""
    waiting = run.asked.get("plan") if name == "analyze" and run.asked else None
    found = waiting or run.findings.get(name)
    return found if isinstance(found, Mapping) else {}


def _facts(run: Run) -> Iterator[tuple[str, str]]:
    find, rows, scorer, probed = (_part(run, name) for name in ("find", "analyze", "atomize", "materialize"))
    source, data = find.get("source") or {}, rows.get("dataset") or {}
    yield "Benchmark", ", ".join(str(source[name]) for name in ("name", "part") if source.get(name))
    confidence = find.get("confidence")
    yield "How sure", f"{confidence:.0%}" if isinstance(confidence, int | float) else ""
    yield "Same task", "; ".join(f"{name}: {one['task']}" for name, one in (find.get("same_tasks") or {}).items())
    yield "Rows", str(data.get("words") or "")
    yield "Revision", str(data.get("revision") or "")
    yield "Licence", str(data.get("licence") or "")
    yield "Kind", str(rows.get("kind") or "").replace("_", " ")
    yield "Metric", str(rows.get("metric") or "")
    chance = rows.get("chance")
    yield "By chance", f"{chance:.0%}" if isinstance(chance, int | float) and chance else ""
    yield "Sampling", _sampling(run, scorer.get("grader") or rows.get("grader"))
    yield "Graded by", str(scorer.get("scorer") or rows.get("scorer") or "")
    yield "Tasks", _tasks(rows)
    yield "Estimate", str((probed.get("estimate") or rows.get("estimate") or {}).get("basis") or "")
    yield "Scorer", "reused" if scorer.get("reused") else "authored for this run" if scorer.get("impl") else ""


def _tasks(rows: Mapping[str, Any]) -> str:
    """How many will run, and of how many there are."""
    tasks, there = rows.get("tasks") or 0, rows.get("n") or 0
    if not tasks:
        return ""
    return f"{tasks:,} of {there:,} (the first {tasks:,})" if there > tasks else f"all {tasks:,}"


def _sampling(run: Run, planned: Mapping[str, Any] | None) -> str:
    """What is sent to the model: by its scorer, else by the grader that is planned; "" before either is known."""
    if run.impl is not None or run.fork_mode == "rescore":
        return sampling.words_of(run)
    return sampling.told(sampling.sent(planned, run.sut), code=False) if planned and run.sut else ""
