"""/v1/secrets: provider keys go in, and never come out."""

from typing import Any

from django.db import transaction
from django.http import HttpRequest, HttpResponse
from ninja import Router
from pydantic import SecretStr

from accounts.door import answer, principal, requires
from accounts.idempotency import idempotent
from kernel import conditional, listing, paging
from secrets_vault import queries, vault
from secrets_vault.host_policy import api as host_policy
from secrets_vault.models import Secret
from secrets_vault.rules import warnings
from secrets_vault.schemas import SecretBody, SecretPatch
from secrets_vault.shapes import secret_object, use_object

router = Router(tags=["secrets"])
router.add_router("", host_policy.router)


@router.get("/secrets", auth=requires("secrets:read"), response=Any)
def secrets(request: HttpRequest) -> dict[str, Any]:
    """Your secrets, masked."""
    viewer = principal(request)
    query = listing.parse(request.GET, sorts=("created_at", "updated_at", "name"), filters={"name": listing.text})
    rows = query.apply(queries.visible(viewer).prefetch_related("rules"))
    found = paging.page(rows, query, scope=(viewer.account.pk, "secrets"))
    return {
        "object": "list",
        "data": [secret_object(row) for row in found.rows],
        "next_page_token": found.next_page_token,
    }


@router.post("/secrets", auth=requires("secrets:write"), response={201: Any})
@idempotent
def create(request: HttpRequest, body: SecretBody) -> HttpResponse:
    """Seal and keep a provider key, with rules that say to which hosts it goes."""
    rules = [rule.model_dump() for rule in body.rules]
    made = vault.create(principal(request), body.name, body.value.get_secret_value(), rules, body.description)
    return _shown(request, made, 201, warnings(body.value.get_secret_value()))


@router.get("/secrets/{secret_id}", auth=requires("secrets:read"), response=Any)
def secret(request: HttpRequest, secret_id: str) -> HttpResponse:
    """One secret, masked."""
    return _shown(request, queries.secret(principal(request), secret_id))


@router.get("/secrets/{secret_id}/uses", auth=requires("secrets:read"), response=Any)
def uses(request: HttpRequest, secret_id: str) -> dict[str, Any]:
    """What a secret was used for: by which run, at which host and path, in which version, how often and when.

    A deleted secret's record stays.
    """
    viewer = principal(request)
    filters = {"run": listing.text, "host": listing.text}
    query = listing.parse(request.GET, sorts=("last_at", "first_at", "uses"), default="-last_at", filters=filters)
    rows = query.apply(queries.uses(viewer, secret_id), {"run": "reference"})
    found = paging.page(rows, query, scope=(viewer.account.pk, "uses", secret_id))
    return {
        "object": "list",
        "data": [use_object(row) for row in found.rows],
        "next_page_token": found.next_page_token,
    }


@router.patch("/secrets/{secret_id}", auth=requires("secrets:write"), response=Any)
@idempotent
def update(request: HttpRequest, secret_id: str, body: SecretPatch) -> HttpResponse:
    """Rotate (`value`), change rules, rename. Runs under way keep the value that they were launched with."""
    caller = principal(request)
    changes = body.changes()
    value = changes.pop("value", None)
    if isinstance(value, SecretStr):
        changes["value"] = value.get_secret_value()
    if "rules" in changes:
        changes["rules"] = [rule.model_dump() for rule in body.rules]
    with transaction.atomic():
        found = queries.secret(caller, secret_id)
        conditional.check_match(request, _tag(found))
        seen = found.updated_at if "If-Match" in request.headers else None
        found = vault.update(caller, found, seen=seen, **changes)
    return _shown(request, found, extra=warnings(changes["value"]) if "value" in changes else ())


@router.delete("/secrets/{secret_id}", auth=requires("secrets:write"), response={204: None})
def delete(request: HttpRequest, secret_id: str) -> HttpResponse:
    """Delete a secret and wipe its sealed values. Runs that use it are cut off."""
    caller = principal(request)
    vault.delete(caller, queries.secret(caller, secret_id))
    return HttpResponse(status=204)


def _tag(found: Secret) -> str:
    return conditional.etag(secret_object(found))


def _shown(request: HttpRequest, found: Secret, status: int = 200, extra: list[str] | tuple[()] = ()) -> HttpResponse:
    """The masked secret with its ETag; ``warnings`` only where a value was just set."""
    tag = _tag(found)
    if request.method in {"GET", "HEAD"} and conditional.not_modified(request, tag):
        return HttpResponse(status=304, headers={"ETag": tag})
    whole = {**secret_object(found), "warnings": list(extra)} if extra else secret_object(found)
    return answer(whole, status, {"ETag": tag})
