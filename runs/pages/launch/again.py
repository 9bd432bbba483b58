"""Asking once more in words: what a run that came to no result had asked for, and what it may have meant."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from accounts.principal import Principal
from kernel.errors import DomainError
from registry import catalog
from runs import queries
from runs.driver.deciding import CHOICE, split_hints
from runs.models import Run

KEPT = ("driver", "phase_models", "secrets", "trials", "concurrency")  # what the form has no field for


@dataclass(frozen=True)
class Meant:
    """What the words may mean. ``offered``: the run's candidates, ``kept``: what was chosen for earlier questions."""

    offered: Sequence[Mapping[str, Any]] = field(default_factory=tuple)
    kept: Sequence[Mapping[str, Any]] = field(default_factory=tuple)


def run_of(principal: Principal, run_id: str) -> Run | None:
    """The run that is asked for once more: one's own, launched in words."""
    if not run_id:
        return None
    try:
        run = queries.run(principal, run_id, write=True)
    except DomainError:
        return None
    return run if in_words(run) else None


def in_words(run: Run) -> bool:
    """Whether the run began with words."""
    return bool(run.request) and (run.mode == "request" or run.from_phase in ("find", "analyze"))


def named_model(run: Run) -> tuple[str, str, str]:
    """``(model, provider, connection)`` named beside the words; each "" where the words were left to say it."""
    sut = {} if (run.findings.get("find") or {}).get("sut") else run.sut
    return str(sut.get("model") or ""), str(sut.get("provider") or ""), str(sut.get("connection") or "")


def values(run: Run) -> dict[str, str]:
    """The fields of the form as that run was launched. A model that Find read from the words is theirs to say."""
    limits = dict(run.limits.get("run", {}))
    words, chosen = split_hints(run.hints)
    model, provider, over = named_model(run)
    return {
        "request": run.request,
        "model": model,
        "provider": over or provider,
        "limit": str(limits.get("tasks", "")),
        "cost": str(limits.get("cost", "")),
        "approve": "1" if run.metadata.get("autonomous") is False else "",
        "hints": "\n".join(words),
        "choice": "\n".join(chosen),
    }


def kept(run: Run) -> dict[str, Any]:
    """What that run was launched with and the form has no field for, as a launch takes it."""
    found = {name: getattr(run, name) for name in KEPT if getattr(run, name)}
    return {**found, **({"metadata": run.metadata} if run.metadata else {})}


def hints(form: Mapping[str, str]) -> list[str]:
    """The hints of a launch: lines of words, and the choices."""
    lines = [line.strip() for line in form["hints"].splitlines() if line.strip()]
    return [*lines, *(f"{CHOICE}{each}" for each in form["choice"].split("\n") if each)]


def meant(run: Run | None, form: Mapping[str, str]) -> Meant:
    """The candidates of that run, the chosen ones marked ``on``, and earlier choices by name."""
    picked = [each for each in form["choice"].split("\n") if each]
    choices = _choices(run)
    known = {one["id"] for one in choices}
    return Meant(
        [{**one, "on": one["id"] in picked} for one in choices],
        [{"id": each, "name": _spoken(each)} for each in picked if each not in known],
    )


def offers(run: Run) -> list[dict[str, Any]]:
    """The candidates of a run that failed, each with the link to the form that asks for just this one."""
    return [{**one, "link": link(run, one["id"])} for one in _choices(run)]


def link(run: Run, choice: str = "") -> str:
    return "/runs/new/words?" + urlencode({"again": str(run.id), **({"choice": choice} if choice else {})})


def _choices(run: Run | None) -> list[dict[str, Any]]:
    return list((run.error or {}).get("choices") or []) if run is not None else []


def _spoken(choice: str) -> str:
    """A choice by name, as far as its id tells one."""
    kind, _, rest = choice.partition(":")
    if kind == "limit":
        return "all samples" if rest == "all" else f"{rest} samples"
    if kind == "model":
        return rest.replace("@", " at ")
    if kind == "catalogue":
        slug, _, part = rest.partition("/")
        try:
            entry = catalog.get(slug)
            return f"{entry.name}: {entry.part(part).name}" if part else entry.name
        except KeyError:
            return rest
    return rest
