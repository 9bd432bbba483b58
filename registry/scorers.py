"""Acts on impls: the bytes of a scorer are shared, each account's registration of them is its own."""

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any

from django.db import transaction

from accounts.principal import Principal
from kernel import secret_signs
from kernel.clock import now
from kernel.errors import DomainError, invalid
from registry import graders, queries, scorer_code
from registry.content_ids import impl_id
from registry.models import Impl, ImplRegistration, Subset
from secrets_vault.rules import normal_pattern

ISOLATIONS = ("batch", "task")
_MAX_HOSTS = 50


def create(
    principal: Principal,
    subset_id: str,
    *,
    benchmark: str | None = None,
    code: str | None = None,
    grader: Mapping[str, Any] | None = None,
    label: str = "",
    description: str = "",
    language: str = "python",
    pass_threshold: float = 1.0,
    network: Sequence[str] = (),
    judge: Mapping[str, Any] | None = None,
    isolation: str = "batch",
    relabel: bool = True,
) -> ImplRegistration:
    """Register a scorer: raw ``code``, or a ``grader`` that we compile. ``relabel``: one that is there too.

    DomainError ``not_found``, ``subset_incomplete``, ``validation_failed`` (with the line), ``not_available``,
    ``secret_in_payload``.
    """
    subset = queries.runnable_subset(principal, subset_id)
    _check_place(principal, subset, benchmark)
    if language != "python":
        raise invalid(["body", "language"], "Scorers are written in python.")
    if (code is None) == (grader is None):
        raise DomainError(
            "mutually_exclusive",
            "Give either code or grader.",
            errors=[{"loc": ["body", "code"], "msg": "Either code or grader."}],
        )
    secret_signs.refuse({"code": code, "label": label, "description": description, "judge": judge}, "body")
    secret_signs.refuse(grader, "body", "grader", names=False)
    if grader is not None:
        full: dict[str, Any] | None = graders.validate_grader(grader)
        isolation = graders.isolation(full or {}, isolation)
        text = graders.compile_grader(grader)
        judge = grader.get("judge", judge)
    else:
        full, text = None, scorer_code.check(code or "")
    impl = _shared(subset, text, pass_threshold, _hosts(network), judge, isolation, full)
    return _register(principal, impl, label, description, relabel=relabel)


def copy(
    principal: Principal, impl: Impl, subset_id: str, *, benchmark: str | None = None, label: str = "",
    description: str = "",
) -> ImplRegistration:  # fmt: skip
    """Register the very bytes of an impl, with all that decides its score, for a subset (its own one too).

    The caller has checked that the principal may read the impl. Somebody else's code stays somebody else's: its runs
    lease only what they name. DomainError ``not_found``, ``subset_incomplete``.
    """
    subset = queries.runnable_subset(principal, subset_id)
    _check_place(principal, subset, benchmark)
    secret_signs.refuse({"label": label, "description": description}, "body")
    made = _shared(subset, impl.code, impl.pass_threshold, impl.network, impl.judge, impl.isolation, impl.grader)
    return _register(principal, made, label, description, copied=not queries.is_own_impl(principal.account, impl))


def register_grader(principal: Principal, subset: Subset) -> ImplRegistration | None:
    """The impl of the subset's own grader, so that it runs without naming one."""
    if subset.grader is None:
        return None
    impl = _shared(
        subset,
        graders.compile_grader(subset.grader),
        1.0,
        [],
        subset.grader.get("judge"),
        graders.isolation(subset.grader, "batch"),
        subset.grader,
    )
    return _register(principal, impl, f"grader: {subset.grader['kind']}", "")


def own_registration(principal: Principal, impl: str, *, lock: bool = False) -> ImplRegistration:
    """The account's own registration; DomainError ``not_found`` for other accounts', official ones too."""
    found = ImplRegistration.objects.filter(impl_id=impl, owner=principal.account, deleted_at=None)
    found = found.select_related("impl__subset__benchmark")
    registration = (found.select_for_update(of=("self",)) if lock else found).first()
    if registration is None:
        raise DomainError("not_found", "There is no such impl.")
    return registration


def update(registration: ImplRegistration, changes: Mapping[str, Any]) -> ImplRegistration:
    """``registration`` from ``own_registration(…, lock=True)``. What decides a score can't be edited."""
    secret_signs.refuse(changes, "body")
    for field in ("label", "description"):
        if field in changes:
            setattr(registration, field, changes[field])
    registration.save()
    return registration


def delete(principal: Principal, impl: str) -> None:
    """Give up the account's registration. Others keep theirs, and runs keep the scorer that graded them."""
    with transaction.atomic():
        registration = own_registration(principal, impl, lock=True)
        registration.deleted_at = now()
        registration.save()


def _check_place(principal: Principal, subset: Subset, benchmark: str | None) -> None:
    if benchmark is not None and benchmark != subset.benchmark_id:
        raise invalid(["body", "benchmark"], f"The subset {subset.pk} belongs to the benchmark {subset.benchmark_id}.")
    if subset.answers == "closed" and subset.benchmark.owner_id != principal.account.pk:
        raise DomainError(
            "not_available", "The answers of this subset are closed: only its owner's scorers may see them."
        )


def _hosts(network: Sequence[str]) -> list[str]:
    if len(network) > _MAX_HOSTS:
        raise invalid(["body", "network"], f"A scorer may name at most {_MAX_HOSTS} hosts.")
    found = set()
    for index, host in enumerate(network):
        try:
            found.add(normal_pattern(host))
        except ValueError as why:
            raise invalid(["body", "network", index], str(why)) from None
    return sorted(found)


def _shared(
    subset: Subset,
    code: str,
    pass_threshold: float,
    network: list[str],
    judge: Mapping[str, Any] | None,
    isolation: str,
    grader: Mapping[str, Any] | None,
) -> Impl:
    key = impl_id(subset.pk, code, pass_threshold, network, judge, isolation)
    impl, _ = Impl.objects.get_or_create(
        id=key,
        defaults={
            "subset": subset,
            "code": code,
            "code_sha256": sha256(code.encode()).hexdigest(),
            "pass_threshold": pass_threshold,
            "network": network,
            "judge": judge,
            "isolation": isolation,
            "grader": grader,
        },
    )
    return impl


def _register(
    principal: Principal, impl: Impl, label: str, description: str, *, copied: bool = False, relabel: bool = True
) -> ImplRegistration:
    """The account's registration, made or found. Registering the same bytes again renames them at most."""
    registration, new = ImplRegistration.objects.get_or_create(
        impl=impl,
        owner=principal.account,
        deleted_at=None,
        defaults={"label": label, "description": description, "copied": copied},
    )
    if not new and ((relabel and (label or description)) or (registration.copied and not copied)):
        registration.label = (relabel and label) or registration.label
        registration.description = (relabel and description) or registration.description
        registration.copied = registration.copied and copied
        registration.save()
    return registration
