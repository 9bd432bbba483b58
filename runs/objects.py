"""What the API answers: runs, task rows, payloads and events as plain JSON values."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.conf import settings

from accounts.principal import Principal
from kernel.clock import stamp
from kernel.money import known, shown
from registry.models import Impl, ImplRegistration
from runs import events
from runs.asked import sampling, scope
from runs.models import Phase, Run, RunEvent, TaskResult
from runs.results import shown_message
from runs.review import shapes
from runs.summary import in_order
from secrets_vault import leases
from secrets_vault import queries as vault


@dataclass(frozen=True)
class Around:
    """What run objects tell of other rooms: their impls' labels, and which secrets they hold."""

    labels: Mapping[tuple[str, Any], str]  # by impl and owner
    leased: Mapping[str, list[str]]  # names, by run
    keys: Mapping[str, str]  # names, by secret: the keys of the models under test
    review: Mapping[UUID, list[dict[str, Any]]] = field(default_factory=dict)  # flags, by run
    scopes: Mapping[UUID, scope.Scope | None] = field(default_factory=dict)  # which tasks ran, by run
    graders: Mapping[str, dict[str, Any] | None] = field(default_factory=dict)  # by impl; None: it is code


def around(runs: Iterable[Run], viewer: Principal | None) -> Around:
    """For all of ``runs``, in a query each. Secrets are named to the runs' owner alone."""
    runs = list(runs)
    mine = [run for run in runs if viewer is not None and run.owner_id == viewer.account.pk]
    return Around(
        _impl_labels(runs),
        leases.names(str(run.id) for run in mine) if mine else {},
        vault.names_of(run.sut_key["secret"] for run in mine if run.sut_key.get("secret")),
        shapes.of_runs(runs),
        scope.of_all(runs),
        dict(Impl.objects.filter(pk__in={run.impl_id for run in runs if run.impl_id}).values_list("pk", "grader")),
    )


def _impl_labels(runs: Iterable[Run]) -> Mapping[tuple[str, Any], str]:
    """How each run's owner calls its impl."""
    wanted = {(run.impl_id, run.owner_id) for run in runs if run.impl_id is not None}
    rows = ImplRegistration.objects.filter(
        impl__in={impl for impl, _ in wanted}, owner__in={owner for _, owner in wanted}, deleted_at=None
    )
    return {(impl, owner): label for impl, owner, label in rows.values_list("impl_id", "owner_id", "label")}


def run_object(run: Run, viewer: Principal | None, beside: Around | None = None) -> dict[str, Any]:
    """The contract's run object. Strangers see neither the words that asked for it nor what only configures it."""
    beside = around([run], viewer) if beside is None else beside
    names, ran = beside.labels, beside.scopes.get(run.id)
    mine = viewer is not None and run.owner_id == viewer.account.pk
    return {
        "object": "run",
        "id": str(run.id),
        "status": run.status,
        "request": (run.request or None) if mine else None,
        "benchmark": {"id": run.benchmark.id, "name": run.benchmark.name} if run.benchmark else None,
        "benchmark_name": run.benchmark.name if run.benchmark else None,
        "subset_id": run.subset_id,
        "subset_revision": run.subset_revision,
        "product_subset_id": None,
        "impl": {"id": run.impl_id, "label": names.get((run.impl_id, run.owner_id), "")} if run.impl_id else None,
        "scope": ran.document() if ran else None,
        **_how(run, beside, mine=mine),
        "limits": run.limits if mine else None,  # not {}: that would say that none are set
        "hints": run.hints if mine else [],
        "phase_models": run.phase_models,
        "metadata": run.metadata if mine else {},
        "secrets": run_secrets(run, beside) if mine else None,
        "scan": {"state": run.scan_state, **run.scan} if mine and run.scan_state else None,
        "visibility": run.visibility,
        "phases": [phase_object(run, phase) for phase in sorted(run.phases.all(), key=lambda phase: phase.position)],
        "plan": plan_object(run, mine=mine),
        "asked": asked_object(run, mine=mine),
        "summary": in_order(run.summary) if run.summary is not None else None,
        "cost": run_cost(run),
        "halt_reason": run.halt_reason,
        "halt_note": run.halt_note if mine else "",
        "error": events.told_error(run.error, mine=mine),
        "review": beside.review.get(run.id, []),
        "links": links(run),
        "created_at": stamp(run.created_at),
        "started_at": stamp(run.started_at),
        "finished_at": stamp(run.finished_at),
    }


def _how(run: Run, beside: Around, *, mine: bool) -> dict[str, Any]:
    """What runs on what, and where it comes from; over which connection only its owner sees."""
    over = run.sut.get("connection") if mine else None
    return {
        "model": {
            **asked_model(run, mine=mine),
            "params": run.sut.get("params") or {},
            "sampling": _sent(run, beside),
            "served": run.served,
            "connection": {"id": over, "name": run.sut.get("connection_name")} if over else None,
        },
        "driver": run.driver or "builtin",
        "harness": run.harness,
        "backend": run.backend,
        "unsandboxed": run.unsandboxed,
        "mode": run.mode,
        "parent_run": str(run.parent_id) if run.parent_id else None,
        "relation": run.relation,
        "fork": fork_object(run, mine=mine),
        "completes": run.completes,
        "concurrency": run.concurrency,
        "trials": run.trials,
        "planned": run.planned,
    }


def _sent(run: Run, beside: Around) -> dict[str, Any] | None:
    """As ``sampling.of``, without reading each run's scorer."""
    if run.impl_id is None or not run.sut or run.fork_mode == "rescore":
        return None
    return sampling.sent(beside.graders.get(run.impl_id), run.sut)


def asked_model(run: Run, *, mine: bool) -> dict[str, Any]:
    """The model under test as it was asked for, to its owner also where it could not be had: a key was missing."""
    sut = run.sut or ((run.error or {}).get("model") if mine else None) or {}
    return {"identifier": sut.get("model"), "provider": sut.get("provider")}


def fork_object(run: Run, *, mine: bool) -> dict[str, Any] | None:
    """What a fork changes of its parent, and how; None for any other run. Its words are its owner's to read."""
    if run.relation != "fork":
        return None
    words = run.description if mine else ""
    return {"description": words or None, "from_phase": run.from_phase, "mode": run.fork_mode}


def plan_object(run: Run, *, mine: bool) -> dict[str, Any] | None:
    """What the authoring phases found, by phase; None for a run that was launched without words."""
    if not mine or not run.findings:
        return None
    found = dict(run.findings)
    if isinstance(found.get("analyze"), dict):
        found["analyze"] = _with_sampling(run, found["analyze"], (found.get("atomize") or {}).get("grader"))
    return found


def asked_object(run: Run, *, mine: bool) -> dict[str, Any] | None:
    """What a waiting run asks its owner; the plan that it shows says what would be sent."""
    if not mine or run.status != "needs_input" or not run.asked:
        return None
    plan = run.asked.get("plan")
    return {**run.asked, "plan": _with_sampling(run, plan)} if isinstance(plan, dict) else dict(run.asked)


def _with_sampling(run: Run, plan: Mapping[str, Any], scorer: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The plan with what is sent to the model, by the scorer that was made or the grader that is planned."""
    grader = scorer or plan.get("grader")
    asks = run.sut and run.fork_mode != "rescore"
    return {**plan, "sampling": sampling.sent(grader, run.sut) if asks else None}


def run_secrets(run: Run, beside: Around) -> dict[str, Any]:
    """Which of the account's secrets the run may use, by name; ``notice`` says so where the code is somebody else's."""
    leased = beside.leased.get(str(run.id), [])
    return {
        "sut_key": beside.keys.get(run.sut_key.get("secret", "")),
        "leased": leased,
        "foreign_impl": run.foreign_impl,
        "notice": foreign_notice(leased) if run.foreign_impl else None,
    }


def foreign_notice(leased: Sequence[str]) -> str:
    """What its owner is told of a run of somebody else's code."""
    may = f"only {', '.join(leased)}, as you asked" if leased else "none of your secrets"
    return f"The scorer is somebody else's code. Its requests may use {may}; the model's key stays in the gateway."


def run_cost(run: Run) -> dict[str, Any]:
    """``model`` is what the calls cost at the provider, ``billed`` what we charge: nothing for an own key.

    ``unpriced``: some calls have no known price; ``model`` leaves them out, and is None where it knows none.
    """
    return {
        "billed": shown(0),
        "model": known(run.cost_model, run.unpriced_calls),
        "compute": shown(0),
        "driver": known(run.cost_driver, run.unpriced_beside),
        "unpriced": run.unpriced_calls > 0,
    }


def links(run: Run) -> dict[str, str]:
    page, api = f"{settings.PUBLIC_URL}/runs/{run.id}", f"{settings.PUBLIC_URL}/v1/runs/{run.id}"
    return {"dashboard": page, "report": f"{page}/report", "self": api, "stream": f"{api}/stream"}


def phase_object(run: Run, phase: Phase) -> dict[str, Any]:
    """Materialize asks the model under test: what it spends is the run's own tally. The others ask the driver."""
    calls = phase.name == "materialize"
    return {
        "name": phase.name,
        "status": phase.status,
        "attempt": phase.attempt,
        "started_at": stamp(phase.started_at),
        "finished_at": stamp(phase.finished_at),
        "cost": known(run.cost_model, run.unpriced_calls) if calls else shown(phase.cost),
        "tokens": run.tokens_in + run.tokens_out if calls else phase.tokens,
    }


def event_object(event: RunEvent) -> dict[str, Any]:
    return {
        "object": "event",
        "seq": event.seq,
        "type": event.type,
        "created_at": stamp(event.created_at),
        "data": event.data,
    }


PASSED = {"passed": True, "failed": False}


def task_row(row: TaskResult, *, answers: bool) -> dict[str, Any]:
    """A slim row: no input, expected or output. ``answers``: whether its reader may see expected answers."""
    return {
        "object": "task_result",
        "id": row.id,
        "task_id": row.task_id,
        "trial": row.trial,
        "attempt": row.attempt,
        "version": row.version,
        "kind": row.kind or None,
        "score": row.score,
        "passed": PASSED.get(row.outcome),
        "outcome": row.outcome,
        "error_class": row.error_class,
        "error_message": shown_message(row.error_class, row.error_message, answers=answers),
        "output_preview": row.output_preview,
        "duration_ms": row.duration_ms,
        "model_ms": row.model_ms,
        "tokens_in": row.tokens_in,
        "tokens_out": row.tokens_out,
        "cost": known(row.cost, row.unpriced),
        "unpriced": row.unpriced > 0,
        "stop_reason": row.stop_reason,
        "reused": row.reused,
    }
