"""Balance, caps, top-ups and the ledger."""

from collections.abc import Mapping
from typing import Any

from .._http import Http, given, new_key, segment
from .._objects import Object
from .._pages import Page
from .base import Resource, filters_as_params


class Balance(Resource):
    """``bw.billing.balance``"""

    def get(self) -> Object:
        return self._get("/billing/balance")


class Controls(Resource):
    """``bw.billing.controls``"""

    def get(self) -> Object:
        return self._get("/billing/controls")

    def update(self, *, idempotency_key: str | None = None, **fields: Any) -> Object:
        """monthly_cap_cents, auto_refill_…, alert_…; cents are integers."""
        key = idempotency_key or new_key()
        answer: Object = self._http.json("PATCH", "/billing/controls", body=fields, key=key)
        return answer


class Topups(Resource):
    """``bw.billing.topups``"""

    def create(self, amount_cents: int, flow: str = "hosted", idempotency_key: str | None = None) -> Object:
        return self._create("/billing/topups", given(amount_cents=amount_cents, flow=flow), idempotency_key)

    def get(self, top_id: str) -> Object:
        return self._get(f"/billing/topups/{segment(top_id)}")


class Transactions(Resource):
    """``bw.billing.transactions``"""

    def list(
        self, filters: Mapping[str, Any] | None = None, limit: int | None = None, page_token: str | None = None
    ) -> Page:
        params = filters_as_params(filters)
        return self._page("/billing/transactions", **params, limit=limit, page_token=page_token)


class Billing(Resource):
    """``bw.billing``"""

    def __init__(self, http: Http) -> None:
        super().__init__(http)
        self.balance = Balance(http)
        self.controls = Controls(http)
        self.topups = Topups(http)
        self.transactions = Transactions(http)

    def usage_trend(self) -> Object:
        return self._get("/billing/usage_trend")

    def export(self, type: str) -> bytes:
        """``transactions`` or ``runs`` as CSV bytes."""
        return self._http.raw("GET", "/billing/export", params={"type": type}).content
