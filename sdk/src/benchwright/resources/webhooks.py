"""Webhooks: endpoints, deliveries, and the check of a signature."""

import hashlib
import hmac
import json
import time
from collections.abc import Sequence
from typing import Any

from .._http import given, segment
from .._objects import Object
from .._pages import Page
from ..errors import SignatureError
from .base import Resource

TOLERANCE = 300  # seconds between signing and checking


class Webhooks(Resource):
    """``bw.webhooks``"""

    def create(
        self,
        url: str,
        events: Sequence[str],
        description: str | None = None,
        idempotency_key: str | None = None,
        **fields: Any,
    ) -> Object:
        """Register an endpoint. ``signing_secret`` is in this answer only."""
        body = given(url=url, events=list(events), description=description, **fields)
        return self._create("/webhooks", body, idempotency_key)

    def list(self, limit: int | None = None) -> Page:
        return self._page("/webhooks", limit=limit)

    def get(self, whk_id: str) -> Object:
        return self._get(f"/webhooks/{segment(whk_id)}")

    def update(self, whk_id: str, *, if_match: str | None = None, **patch: Any) -> Object:
        return self._patch(f"/webhooks/{segment(whk_id)}", patch, if_match)

    def delete(self, whk_id: str) -> Object | None:
        return self._delete(f"/webhooks/{segment(whk_id)}")

    def rotate_secret(self, whk_id: str) -> Object:
        return self._create(f"/webhooks/{segment(whk_id)}/rotate_secret", {}, None)

    def test_delivery(self, whk_id: str, event: str) -> Object:
        return self._create(f"/webhooks/{segment(whk_id)}/test", {"event": event}, None)

    def deliveries(self, whk_id: str, status: str | None = None, limit: int | None = None) -> Page:
        return self._page(f"/webhooks/{segment(whk_id)}/deliveries", status=status, limit=limit)

    def retry_delivery(self, whk_id: str, whd_id: str) -> Object:
        path = f"/webhooks/{segment(whk_id)}/deliveries/{segment(whd_id)}/retry"
        return self._create(path, {}, None)

    @staticmethod
    def construct_event(payload: bytes | str, sig_header: str, secret: str, tolerance: int = TOLERANCE) -> Object:
        """The event of a delivery whose signature holds; no HTTP.

        ``payload`` is the body as received, ``sig_header`` the X-Benchwright-Signature header
        (``t=<unix time>,v1=<hex>``, several v1 while a secret is rotated), ``tolerance`` in seconds.
        Raises SignatureError otherwise.
        """
        body = payload.encode() if isinstance(payload, str) else payload
        stamp, signatures = _parts(sig_header)
        expected = hmac.new(secret.encode(), stamp.encode() + b"." + body, hashlib.sha256).hexdigest()
        matches = [hmac.compare_digest(expected.encode(), given_one.encode()) for given_one in signatures]
        if not any(matches):
            raise SignatureError("The signature does not match: another secret, or the body was changed on its way.")
        if abs(time.time() - int(stamp)) > tolerance:
            raise SignatureError(f"The signature is more than {tolerance} s old: a replay, or a clock that is off.")
        return Object(json.loads(body))


def _parts(header: str) -> tuple[str, list[str]]:
    pairs = [part.strip().split("=", 1) for part in header.split(",") if "=" in part]
    stamps = [value for name, value in pairs if name == "t"]
    signatures = [value for name, value in pairs if name == "v1"]
    if len(stamps) != 1 or not (stamps[0].isascii() and stamps[0].isdigit()) or not signatures:
        raise SignatureError("The signature header is not of the form t=<time>,v1=<hex>.")
    return stamps[0], signatures
