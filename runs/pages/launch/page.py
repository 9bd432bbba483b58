"""The launch page as plain values: what may be picked, what would run, and whose key would pay."""

from dataclasses import replace
from typing import Any

from accounts.pages import once
from accounts.principal import Principal
from kernel.errors import DomainError
from registry import queries as registry
from registry import visibility
from registry.models import Benchmark, Subset
from runs import launching, providers, queries, replays
from runs.asked import scope
from runs.models import Run
from runs.pages import words
from runs.pages.launch import paying
from runs.pages.launch.form import Form
from runs.pages.lineage.naming import title
from runs.reporting import ceilings
from runs.schemas import Replay, Sut
from secrets_vault.connections import queries as connections

SHOWN = 200  # benchmarks of each sort in the list
FREE = Sut(model="any", provider="simulated")
DEFAULTS = {"trials": "1", "concurrency": "16", "provider": "simulated"}


def begin(principal: Principal, form: Form) -> Form:
    """The form as it is first shown: what the link said, then the parent's or the usual values."""
    parent = _parent(principal, form)
    known = _of_parent(principal, parent) if parent is not None else DEFAULTS
    if parent is not None and not form["provider"] and _lost(principal, parent):
        form.errors.setdefault("provider", "The connection that it went over is gone: choose where the model is asked.")
    return replace(form, values={name: form[name] or known.get(name, "") for name in form.values})


def _lost(principal: Principal, run: Run) -> bool:
    over = run.sut.get("connection") if run.owner_id == principal.account.pk else None
    return bool(over) and connections.named(principal, str(over)) is None


def _of_parent(principal: Principal, run: Run) -> dict[str, str]:
    mine = run.owner_id == principal.account.pk
    limits = dict(ceilings.inherited(run).get("run", {})) if mine else {}
    return {
        "model": str(run.sut.get("model", "")),
        "provider": str(
            (mine and not _lost(principal, run) and run.sut.get("connection")) or run.sut.get("provider", "")
        ),
        "trials": str(run.trials),
        "concurrency": str(run.concurrency),
        "limit": str(limits.get("tasks", "")),
        "cost": _dollars(limits.get("cost")),
    }


def _dollars(cost: float | None) -> str:
    """As a field holds it: two decimals, more where they say something."""
    if cost is None:
        return ""
    return f"{cost:.2f}" if round(cost, 2) == cost else f"{cost:.8f}".rstrip("0")


def _parent(principal: Principal, form: Form) -> Run | None:
    """The run to replay; None where there is none that may be seen and replayed (then the form says so)."""
    if not form["replay"]:
        return None
    try:
        return replays.parent(principal, Replay(from_run=form["replay"][:200]))
    except DomainError as refusal:
        form.errors.setdefault("replay", refusal.detail)
        return None


def launch_once(principal: Principal, form: Form, mark: str) -> str | None:
    """Launch what the form says and give the run's id; the same for a form that was sent before.

    None where it can't be, and then ``form.errors`` tell why.
    """
    return once.act(principal, mark, form.errors, lambda: _launched(principal, form))


def _launched(principal: Principal, form: Form) -> str | None:
    try:
        return str(launching.launch(principal, form.body(_own(principal, _parent(principal, form)))).id)
    except DomainError as refusal:
        form.refuse(refusal)
        return None


def _own(principal: Principal, run: Run | None) -> Run | None:
    return run if run is not None and run.owner_id == principal.account.pk else None


def page(principal: Principal, form: Form) -> dict[str, Any]:
    """Everything the page shows. Looks only; what would be refused shows no plan."""
    parent = _parent(principal, form)
    draft, key = _draft(principal, form, parent), paying.key_for(principal, form.target())
    likely = paying.likely(principal, form, draft, parent)
    return {
        "form": form.values,
        "errors": form.errors,
        "marked": any(form.errors),
        "replaying": bool(form["replay"]),
        "parent": parent,
        "parent_title": title(parent, mine=parent.owner_id == principal.account.pk) if parent else "",
        "slices": _slices(parent) if parent else [],
        **({} if form["replay"] else _choices(principal, form)),
        "providers": [(name, providers.get(name).label) for name in providers.names()],
        "connections": connections.visible(principal).filter(kind="ai_model").order_by("name"),
        "models": _models(principal),
        "draft": draft,
        "scope": scope.of(draft) if draft else None,
        "noun": "task" if draft is None or draft.trials == 1 else "trial",
        "key": key,
        "price": paying.price(principal, form, draft, likely),
        "likely": likely,
        "mark": once.fresh(),
    }


def _choices(principal: Principal, form: Form) -> dict[str, Any]:
    """The benchmarks, the chosen one's subsets, and the chosen subset's scorers."""
    seen = visibility.benchmarks(principal)
    own = list(seen.filter(owner=principal.account).order_by("-created_at")[:SHOWN])
    public = list(seen.exclude(owner=principal.account).order_by("name", "id")[:SHOWN])
    chosen = next((one for one in (*own, *public) if one.pk == form["benchmark"]), None)
    if chosen is None and form["benchmark"]:
        chosen = seen.filter(pk=form["benchmark"]).first()
        public += [chosen] if chosen else []
    subsets = _subsets(principal, chosen)
    subset = _subset(form, subsets)
    return {"own": own, "public": public, "benchmark": chosen, "subsets": subsets, "subset": subset,
            "scorers": _scorers(principal, subset)}  # fmt: skip


def _subsets(principal: Principal, benchmark: Benchmark | None) -> list[Subset]:
    return list(registry.subsets_of(principal, benchmark).filter(state="ready")[:SHOWN]) if benchmark else []


def _subset(form: Form, subsets: list[Subset]) -> Subset | None:
    wanted = form["subset"]
    named = next((one for one in subsets if wanted in (one.pk, one.slug)), None)
    return named or (subsets[0] if len(subsets) == 1 else None)


def _scorers(principal: Principal, subset: Subset | None) -> list[dict[str, Any]]:
    if subset is None:
        return []
    rows = registry.registrations(principal, subset.pk).order_by("-created_at", "-pk")[:SHOWN]
    return [{"id": row.impl_id, "label": row.label or row.impl_id, "own": row.owner_id == principal.account.pk}
            for row in rows]  # fmt: skip


def _slices(parent: Run) -> list[dict[str, Any]]:
    """What a replay may run again: (value of the form, how many cells, words)."""
    failed, errored = parent.failed + parent.unscored, parent.errored + parent.skipped
    return [
        {"value": "", "count": parent.planned, "head": f"All {words.count(parent.planned)}",
         "says": "The same tasks once more: another model, or how much the figure moves by itself."},
        {"value": "only_failed", "count": failed, "head": f"The {words.count(failed)} that did not pass",
         "says": f"{words.count(parent.failed)} failed, {words.count(parent.unscored)} unscored. Chosen because they "
                 "did not pass, so their rate says nothing by itself."},
        {"value": "only_errored", "count": errored, "head": f"The {words.count(errored)} without a result",
         "says": f"{words.count(parent.errored)} errored, {words.count(parent.skipped)} skipped. With the same model "
                 "the two runs together make one whole."},
    ]  # fmt: skip


def _models(principal: Principal) -> list[str]:
    """Models that the account used lately, for the field's list."""
    recent = queries.own(principal).order_by("-created_at").values_list("sut__model", flat=True)[:50]
    return list(dict.fromkeys(str(name) for name in recent if name))[:12]


def _draft(principal: Principal, form: Form, parent: Run | None) -> Run | None:
    """What would be planned, else None with the faults of what was typed told in ``form.errors``.

    Which cells run does not depend on the model, so none is needed yet.
    """
    filled = replace(form, values={**form.values, "model": form["model"] or "any", "provider": "simulated"}, errors={})
    try:
        body = filled.body(_own(principal, parent))
        return launching.drafted(principal, body.model_copy(update={"sut": FREE}))
    except DomainError as refusal:
        filled.refuse(refusal)
        for name, says in filled.errors.items():
            if name and form[name]:  # what is not filled in yet is no mistake yet
                form.errors.setdefault(name, says)
        return None
