"""What mends each class of what did not pass: the act, its price, and the very request that does it."""

import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import BooleanField, Count, ExpressionWrapper, Q

from kernel import money
from runs import replays, suts
from runs.models import Run, TaskResult
from runs.pages import words
from runs.providers import PROVIDERS, metering
from runs.reporting import ceilings, judges
from runs.reporting.failures import classes, cutoff
from runs.reporting.failures.cutoff import Cutoff
from secrets_vault.host_policy import entries
from secrets_vault.host_policy import queries as host_policies

# outcome -> (the slice of a replay that runs it again, what else that slice runs again)
AGAIN = {
    "errored": ("only_errored", ("errored", "skipped")),
    "skipped": ("only_errored", ("errored", "skipped")),
    "unscored": ("only_failed", ("failed", "unscored")),
}
SLICES = {only: outcomes for only, outcomes in AGAIN.values()}
MOST_IDS = 1000  # task ids in an offered request
TYPED_IDS = 20  # task ids in a command
HOSTS = 5
JUDGE = ("judge_unparsed", "judge_error")
MOST_LATER, SHOWN_LATER = 1000, 50  # later runs
# The positions themselves may be a hundred thousand numbers.
_SLICED = ExpressionWrapper(Q(task_positions__isnull=False), output_field=BooleanField())


@dataclass(frozen=True)
class Offer:
    """An act. ``requests``: what to send, in order, each {"method", "path", "body"}. ``price``: micro-cents, at most
    about; None where nobody knows. ``command``: the same from a shell, or ""."""

    kind: str  # replay, rescore, allow_host
    label: str
    requests: Sequence[Mapping[str, Any]]
    cells: int
    price: int | None
    command: str = ""
    only: str = ""  # the slice of the launch page that does it, or ""
    params: Mapping[str, Any] | None = None  # of the model, where they change
    raised: str = ""  # the ceilings that it raises, as the end of a label

    @property
    def price_words(self) -> str:
        return priced(self.price)

    def document(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "label": self.label,
            "requests": list(self.requests),
            "cells": self.cells,
            "price": None if self.price is None else money.shown(self.price),
            "price_words": self.price_words,
            "command": self.command or None,
        }


def priced(micro_cents: int | None) -> str:
    """As a button says it."""
    if micro_cents is None:
        return words.UNKNOWN
    if not micro_cents:
        return "free"
    dollars = micro_cents / money.MICRO_CENTS_PER_DOLLAR
    return f"≈ ${dollars:,.2f}" if dollars >= 0.01 else "under $0.01"


def cell_price(run: Run) -> float | None:
    """Micro-cents that a cell of this run cost on average; None where the run's cost does not say it."""
    if run.unpriced_calls:
        return None
    ended = run.passed + run.failed + run.unscored + run.errored
    provider = PROVIDERS.get(str(run.sut.get("provider")))
    known = bool(provider and provider.free) or bool(run.cost_model) or run.passed + run.failed + run.unscored > 0
    return run.cost_model / max(ended, 1) if known else None


def offers(run: Run, group: Mapping[str, Any], *, mine: bool, cut: Cutoff | None = None) -> list[Offer]:
    """What mends one class, the best first; [] where nothing but another model or another scorer would."""
    name, outcome = str(group["error_class"] or ""), str(group["outcome"])
    if name == "truncated":
        return _more_tokens(run, cut or cutoff.of(run), mine=mine)
    found: list[Offer] = []
    if name in JUDGE:
        found += _another_judge(run, group, mine=mine)
    elif outcome == "unscored":
        found += _rescore(run, group)
    if outcome in AGAIN and not replays.refusal(run):
        again = _again(run, outcome, mine=mine)
        found.append(_allowing(run, again) if name == "blocked_host" and mine else again)
    return found


def _again(run: Run, outcome: str, *, mine: bool) -> Offer:
    only, outcomes = AGAIN[outcome]
    cells = sum(getattr(run, each) for each in outcomes)
    each = cell_price(run)
    limits, said, typed = _raised(run, cells, mine=mine)
    return Offer(
        kind="replay",
        label=f"Run the {words.plural(cells, 'cell')} that ended {' or '.join(outcomes)} again{said}",
        requests=[_launch({"from_run": str(run.id), only: True}, limits=limits)],
        cells=cells,
        price=None if each is None else round(each * cells),
        command=f"benchwright run --replay-from {run.id} --{only.replace('_', '-')}{typed}",
        only=only,
        raised=said,
    )


def _launch(
    replay: Mapping[str, Any], sut: Mapping[str, Any] | None = None, limits: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    body: dict[str, Any] = {"replay": dict(replay), **({"sut": dict(sut)} if sut else {})}
    body |= {"limits": dict(limits)} if limits else {}
    return {"method": "POST", "path": "/v1/runs", "body": body}


def _raised(run: Run, cells: int, *, mine: bool) -> tuple[dict[str, Any], str, str]:
    """The ceilings under which the rest comes to its end, as the end of a label, and as a shell takes them.

    Nothing of all three where the run's own ceilings did not stop it, and for others, who take none of them over.
    """
    found = ceilings.raised(run, cells) if mine else None
    if found is None:
        return {}, "", ""
    limits, said = found
    typed = [
        f" --limit-to {level}.{name}={value}"
        for level, declared in limits.items()
        for name, value in declared.items()
        if not isinstance(value, Mapping)
    ]
    return limits, f", with {said}", "".join(typed)


def _allowing(run: Run, again: Offer) -> Offer:
    """Allow the hosts that were wanted and can be allowed, then run again what they cost."""
    met = host_policies.blocked_of(str(run.id))[:100]
    hosts = sorted({row.host for row in met if entries.openable(row)})[:HOSTS]
    if not hosts:
        return again
    allow = [
        {"method": "POST", "path": "/v1/host_policy", "body": {"host_pattern": host, "mode": "allow"}} for host in hosts
    ]
    commands = [f"benchwright hosts allow {shlex.quote(host)}" for host in hosts]
    return Offer(
        kind="allow_host",
        label=f"Allow {', '.join(hosts)} and run {words.plural(again.cells, 'cell')} again{again.raised}",
        requests=[*allow, *again.requests],
        cells=again.cells,
        price=again.price,
        command=" && ".join([*commands, again.command]),
        only=again.only,
        raised=again.raised,
    )


def _rescore(run: Run, group: Mapping[str, Any]) -> list[Offer]:
    """The outputs are stored: a mended scorer grades them anew without a model call. [] where the class has none."""
    if not group["stored"]:
        return []
    body = {"mode": "rescore", "from_phase": "atomize", "description": "Say here what the scorer does wrong."}
    without = f"{words.plural(group['stored'], 'cell')} without a score"
    return [
        Offer(
            kind="rescore",
            label=f"Mend the scorer and grade the stored outputs anew: {without}",
            requests=[{"method": "POST", "path": f"/v1/runs/{run.id}/fork", "body": body}],
            cells=group["gradable"],
            price=0,
            command=f'benchwright run fork {run.id} --mode rescore -m "…what it does wrong…"',
        )
    ]


def _another_judge(run: Run, group: Mapping[str, Any], *, mine: bool) -> list[Offer]:
    """The outputs are stored: another judge reads them, and the model under test is not asked.

    [] without outputs, and where no other judge is known whose key is there.
    """
    asked = suts.judge(run.impl.judge if run.impl else None, run.phase_models)
    other = judges.another(run, asked, mine=mine) if group["stored"] and asked is not None else None
    if other is None:
        return []
    model, provider = other
    body = {
        "mode": "rescore",
        "from_phase": "materialize",
        "phase_models": {"judge": {"model": model, "provider": provider}},
    }
    named = f"{model}@{provider}"
    typed = f"--mode rescore --from-phase materialize --judge {shlex.quote(named)}"
    return [
        Offer(
            kind="rescore",
            label=f"Let another judge, {named}, grade the stored outputs: {words.plural(group['stored'], 'cell')} "
            "without a score; the model itself is not asked again, and only the judge costs",
            requests=[{"method": "POST", "path": f"/v1/runs/{run.id}/fork", "body": body}],
            cells=group["gradable"],
            price=0 if metering.is_free(provider, model) else None,
            command=f"benchwright run fork {run.id} {typed}",
        )
    ]


def _more_tokens(run: Run, cut: Cutoff, *, mine: bool) -> list[Offer]:
    """Raise the token limit, and run the truncated tasks again."""
    cut_off = TaskResult.objects.filter(run=run, live=True, error_class="truncated").order_by("position")
    rows = list(cut_off.values_list("task_id", "cost")[: MOST_IDS * run.trials])
    ids = list(dict.fromkeys(name for name, _ in rows))[:MOST_IDS]
    if not ids or cut.suggested is None:
        return []
    params = {key: value for key, value in (run.sut.get("params") or {}).items() if key not in cutoff.NAMES}
    params[cut.name] = cut.suggested
    sut = {"model": run.sut.get("model"), **_where(run, mine=mine), "params": params}
    cells = len(ids) * run.trials
    limits, said, _ = _raised(run, cells, mine=mine)
    return [
        Offer(
            kind="replay",
            label=f"Raise {cut.name} to {cut.suggested:,} and run {words.plural(cells, 'cell')} again{said}",
            requests=[_launch({"from_run": str(run.id), "task_ids": ids}, sut, limits)],
            cells=cells,
            price=_price_of_more(run, cut, cells, [cost for _, cost in rows]),
            command=_typed(run, ids, params, mine=mine),
            params=params,
        )
    ]


def _where(run: Run, *, mine: bool) -> dict[str, Any]:
    """Where the model is asked; over which connection only its owner may know, and use."""
    over = run.sut.get("connection") if mine else None
    return {"connection": over} if over else {"provider": run.sut.get("provider")}


def _price_of_more(run: Run, cut: Cutoff, cells: int, costs: Sequence[int]) -> int | None:
    """At most: as if every one of them used all the tokens that it may now have."""
    if cell_price(run) is None:
        return None
    each = sum(costs) / len(costs) if costs else 0.0
    before = max(cut.asked or 0, cut.tokens or 0, 1)
    return round(each * cells * (cut.suggested or before) / before)


def _typed(run: Run, ids: Sequence[str], params: Mapping[str, Any], *, mine: bool) -> str:
    """The command; "" where it would be too long to type, or its ids hold the comma that parts them."""
    if len(ids) > TYPED_IDS or any("," in each for each in ids):
        return ""
    over = run.sut.get("connection") if mine else None
    model = str(run.sut.get("model"))
    named = (
        f"{shlex.quote(model)} --connection {shlex.quote(str(over))}"
        if over
        else shlex.quote(f"{model}@{run.sut.get('provider')}")
    )
    sampled = " ".join(f"--param {shlex.quote(f'{name}={value}')}" for name, value in params.items())
    return f"benchwright run --replay-from {run.id} --task-ids {shlex.quote(','.join(ids))} --model {named} {sampled}"


def document(run: Run, *, mine: bool, answers: bool) -> dict[str, Any]:
    """``GET /v1/runs/{id}/remedies``."""
    found = classes.classes(run, answers=answers)
    cut = cutoff.of(run)
    return {
        "object": "remedies",
        "run": str(run.id),
        "classes": [
            {
                "outcome": group["outcome"],
                "error_class": group["error_class"],
                "count": group["count"],
                "meaning": group["meaning"],
                "message": group["message"] or None,
                "tasks": f"/v1/runs/{run.id}/tasks?outcome={group['outcome']}",
                "offers": [offer.document() for offer in offers(run, group, mine=mine, cut=cut)],
            }
            for group in found
        ],
        "truncation": cut.document() if cut.cells else None,
        "reruns": reruns(run, mine=mine),
    }


def reruns(run: Run, *, mine: bool) -> dict[str, Any]:
    """What was run again, for ever: within the run, by it, and after it.

    ``attempts``: cells that took more than one attempt; only faults are tried again, never a wrong answer.
    ``of_parent``: how many cells of its parent this run ran again. ``later``: later runs that ran cells of this one.
    ``chosen``: by what the cells of a slice were chosen: their outcome (``only_failed``, ``only_errored``), or whoever
    named them (``task_ids``); None of no slice, and where nobody wrote it down. ``later_chosen``: how many by each.
    """
    counted = TaskResult.objects.filter(run=run, live=True).aggregate(
        attempts=Count("id", filter=Q(attempt__gt=1)),
        rescored=Count("id", filter=Q(version__gt=1)),
        reused=Count("id", filter=Q(reused=True)),
    )
    later = run.children.filter(relation="replay", destroyed_at=None).order_by("created_at", "id")
    seen = (later if mine else later.filter(visibility="public")).annotate(sliced=_SLICED)
    found = list(seen.values_list("id", "planned", "sliced", "completes", "status")[:MOST_LATER])
    slices = [(child, cells) for child, cells, sliced, _, _ in found if sliced]
    own = [run.id] if run.task_positions is not None else []
    by = replays.chosen_by([*own, *(child for child, _ in slices)])
    totals: Counter[str] = Counter()
    for child, cells in slices:
        totals[by.get(child, "")] += cells
    return {
        **counted,
        "of_parent": run.planned if run.relation == "replay" and run.parent_id else 0,
        "slice": run.task_positions is not None and run.relation == "replay",
        "chosen": by.get(run.id),
        "completes": run.completes,
        "later": [
            {"run": str(child), "cells": cells, "slice": sliced, "chosen": by.get(child), "completes": completes,
             "status": status}
            for child, cells, sliced, completes, status in found[:SHOWN_LATER]
        ],
        "later_cells": sum(totals.values()),
        "later_chosen": {name: totals[name] for name in replays.SLICES if totals[name]},
    }  # fmt: skip
