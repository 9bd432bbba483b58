"""Changing and deleting what an author has made. ``seen`` is when the page that was filled in had it changed last."""

from collections.abc import Callable, Mapping
from datetime import datetime
from functools import partial
from typing import Any, TypeVar

from django.db import transaction
from pydantic import BaseModel

from accounts.principal import Principal
from kernel.errors import DomainError
from registry import authoring, scorers
from registry.models import Benchmark, ImplRegistration, Subset
from registry.pages.forms import Form, checked
from registry.schemas import BenchmarkPatch, ImplPatch, SubsetPatch

BENCHMARK = ("name", "description", "category", "tags")
SUBSET = ("name", "description", "answers")
SCORER = ("label", "description")
Row = TypeVar("Row", Benchmark, Subset, ImplRegistration)


def benchmark_form(found: Benchmark) -> Form:
    return Form({**_texts(found, "name", "description", "category"), "tags": ", ".join(found.tags)})


def subset_form(found: Subset) -> Form:
    return Form(_texts(found, *SUBSET))


def scorer_form(found: ImplRegistration) -> Form:
    return Form(_texts(found, *SCORER))


def _texts(found: Any, *names: str) -> dict[str, str]:
    return {name: str(getattr(found, name)) for name in names}


def edit_benchmark(principal: Principal, benchmark_id: str, form: Form, seen: str) -> Benchmark | None:
    """None where it can't be; then ``form.errors`` tell why. DomainError ``not_found``."""
    tags = [tag.strip() for tag in form.values["tags"].split(",") if tag.strip()]
    fields = _read(BenchmarkPatch, {**form.values, "tags": tags}, BENCHMARK, form)
    own = partial(authoring.own_benchmark, principal, benchmark_id, lock=True)
    return _edit(form, seen, fields, own, authoring.update_benchmark)


def edit_subset(principal: Principal, subset_id: str, form: Form, seen: str) -> Subset | None:
    """As ``edit_benchmark``. Rows and freezing have forms of their own."""
    fields = _read(SubsetPatch, form.values, SUBSET, form)
    own = partial(authoring.own_subset, principal, subset_id, lock=True)
    return _edit(form, seen, fields, own, authoring.update_subset)


def edit_scorer(principal: Principal, impl_id: str, form: Form, seen: str) -> ImplRegistration | None:
    """As ``edit_benchmark``. What decides a score never changes."""
    fields = _read(ImplPatch, form.values, SCORER, form)
    own = partial(scorers.own_registration, principal, impl_id, lock=True)
    return _edit(form, seen, fields, own, scorers.update)


def _edit(
    form: Form,
    seen: str,
    fields: dict[str, Any] | None,
    own: Callable[[], Row],
    update: Callable[[Row, dict[str, Any]], Row],
) -> Row | None:
    """Change the row that ``own`` locks, unless it was changed since the form was drawn."""
    if fields is None:
        return None
    with transaction.atomic():
        found = own()
        if not _same(found.updated_at, seen, form):
            return None
        try:
            return update(found, fields)
        except DomainError as refusal:
            form.refuse(refusal)
    return None


def confirmed(typed: str, name: str, key: str) -> bool:
    """Whether somebody typed the name of what they delete, or its id (a name may hold what no keyboard has)."""
    return typed.strip() in (name.strip(), key)


def _read(body: type[BaseModel], sent: Mapping[str, Any], names: tuple[str, ...], form: Form) -> dict[str, Any] | None:
    try:
        found = checked(body, sent)
    except DomainError as refusal:
        form.refuse(refusal)
        return None
    return {name: found[name] for name in names}


def _same(updated_at: datetime, seen: str, form: Form) -> bool:
    if updated_at.isoformat() == seen:
        return True
    form.errors[""] = "It was changed elsewhere since you opened this page. Open it again, then change it."
    return False
