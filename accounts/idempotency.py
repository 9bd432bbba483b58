"""Stored answers: a repeated request with the same Idempotency-Key does its work once and hears the same answer.

The claim is a row, committed first. The work and its stored answer then commit together, under a lock on that row: a
crash before that commit leaves nothing but the claim, which lapses; a crash after it leaves the answer.
"""

import hashlib
import hmac
import re
from collections.abc import Callable
from datetime import timedelta
from functools import wraps
from typing import Any, TypeVar, cast

from django.conf import settings
from django.db import OperationalError, transaction
from django.db.models import Q
from django.db.models.functions import Now
from django.http import HttpRequest, HttpResponse

from accounts.door import answer, principal
from accounts.models import IdempotencyRecord
from kernel import sealed, strict_json
from kernel.errors import DomainError
from kernel.faults import fault

V = TypeVar("V", bound=Callable[..., Any])
KEEP_DAYS = 30
# A launch's key lives as long as the run's tombstone, which is for good.
_KEPT_FOR_GOOD = ("POST /v1/runs",)


def idempotent(view: V) -> V:
    """Put under the router's decorator of a synchronous view that creates or costs.

    The view runs inside one transaction (so it must not ask for a durable one) and returns a dict (200) or an
    HttpResponse. Only 2xx answers are stored. Without the header the view runs as it is.
    """

    @wraps(view)
    def wrapped(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        def work() -> HttpResponse:
            made = view(request, *args, **kwargs)
            return made if isinstance(made, HttpResponse) else answer(made)

        key = _key(request)
        return work() if key is None else _once(request, key, work)

    wrapped.answers_once = True  # type: ignore[attr-defined]  # a test asks every POST for it
    return cast(V, wrapped)


def _key(request: HttpRequest) -> str | None:
    """The key, without quotes. Raises DomainError ``invalid_idempotency_key``."""
    # Servers join repeated headers with a comma, so only the connection's own list tells two headers from one.
    scope: Any = getattr(request, "scope", None) or {}
    if sum(name.lower() == b"idempotency-key" for name, _ in scope.get("headers", ())) > 1:
        raise _bad_key("Send one Idempotency-Key header, not several.")
    raw = request.headers.get("Idempotency-Key")
    if raw is None:
        return None
    key = raw[1:-1] if len(raw) >= 2 and raw[0] == raw[-1] == '"' else raw
    if not re.fullmatch(r"[\x20-\x7e]{1,255}", key, re.ASCII) or not key.strip():
        raise _bad_key("An Idempotency-Key has 1 to 255 printable ASCII characters.")
    return key


def _bad_key(msg: str) -> DomainError:
    errors = [{"loc": ["header", "Idempotency-Key"], "msg": msg}]
    return DomainError("invalid_idempotency_key", msg, errors=errors)


def _fingerprint(request: HttpRequest) -> bytes:
    """A keyed hash of route, query and sorted body: key order and whitespace do not count."""
    parsed = getattr(request, "parsed_body", None)  # what the door read already
    if parsed is None and request.body:
        parsed = strict_json.loads(request.body)
    body = strict_json.dumps(parsed, sort=True)
    route = f"{request.method} {request.get_full_path()}\n".encode()
    return hmac.new(sealed.derive("idempotency"), route + body, hashlib.sha256).digest()


def _once(request: HttpRequest, key: str, work: Callable[[], HttpResponse]) -> HttpResponse:
    record_id = _claim(request, key)
    fault("L1")
    try:
        with transaction.atomic():
            record = _locked(record_id)
            if record.status is not None:
                return _replay(record)
            response = work()
            if 200 <= response.status_code < 300:
                IdempotencyRecord.objects.filter(id=record_id).update(
                    status=response.status_code, body=response.content
                )
                return response
            transaction.set_rollback(True)
    except DomainError as error:
        if error.code != "idempotency_in_progress":
            _release(record_id)
        raise
    except BaseException:
        _release(record_id)
        raise
    _release(record_id)
    return response


def _release(record_id: int) -> None:
    """Nothing was done: the key is free again."""
    IdempotencyRecord.objects.filter(id=record_id, status=None).delete()


def _claim(request: HttpRequest, key: str) -> int:
    """Our claim's row id; an answered key's too. Raises DomainError if the key is in flight or was used otherwise."""
    lapse = Now() + timedelta(seconds=settings.LEASE_SECONDS)
    wanted = {"fingerprint": _fingerprint(request), "route": f"{request.method} {request.path}"[:200]}
    record, new = IdempotencyRecord.objects.get_or_create(
        owner=principal(request).account, key=key, defaults={**wanted, "claimed_until": lapse}
    )
    if new:
        return record.id
    if bytes(record.fingerprint) != wanted["fingerprint"]:
        raise DomainError(
            "idempotency_key_reused",
            f"This Idempotency-Key was used for another request ({record.route}). Use a new key for a new request.",
        )
    if record.status is not None:
        return record.id
    # Take over a claim that lapsed: whoever held it died before it could answer.
    lapsed = IdempotencyRecord.objects.filter(id=record.id, status=None, claimed_until__lt=Now())
    with transaction.atomic():
        if lapsed.select_for_update(skip_locked=True).first() is None:
            raise _in_progress()
        IdempotencyRecord.objects.filter(id=record.id).update(claimed_until=lapse)
    return record.id


def _locked(record_id: int) -> IdempotencyRecord:
    record = None
    try:
        record = IdempotencyRecord.objects.select_for_update(nowait=True).filter(id=record_id).first()
    except OperationalError:
        raise _in_progress() from None
    if record is None:  # its holder gave it back in between
        raise _in_progress()
    return record


def _in_progress() -> DomainError:
    return DomainError(
        "idempotency_in_progress",
        "The first request with this key is still running. Ask again shortly: you will get its answer.",
        headers={"Retry-After": "1"},
    )


def _replay(record: IdempotencyRecord) -> HttpResponse:
    return HttpResponse(
        bytes(record.body or b""),
        status=record.status or 200,
        content_type="application/json",
        headers={"Idempotent-Replayed": "true"},
    )


def purge() -> int:
    """Forget answers older than 30 days, except those of launches. Returns how many."""
    old = IdempotencyRecord.objects.filter(created_at__lt=Now() - timedelta(days=KEEP_DAYS))
    launches = Q(route__in=_KEPT_FOR_GOOD) | Q(route__startswith="POST /v1/runs/", route__endswith="/fork")
    return old.exclude(launches).delete()[0]
