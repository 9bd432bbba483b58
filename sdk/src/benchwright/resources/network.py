"""Connections to providers and compute, and the host policy."""

from typing import Any

from .._http import given, segment
from .._objects import Object
from .._pages import Page
from .base import Resource


class Connections(Resource):
    """``bw.connections``"""

    def list(self, limit: int | None = None) -> Page:
        return self._page("/connections", limit=limit)

    def get(self, con_id: str) -> Object:
        return self._get(f"/connections/{segment(con_id)}")

    def create(self, *, idempotency_key: str | None = None, **fields: Any) -> Object:
        return self._create("/connections", fields, idempotency_key)

    def update(self, con_id: str, *, if_match: str | None = None, **fields: Any) -> Object:
        return self._patch(f"/connections/{segment(con_id)}", fields, if_match)

    def delete(self, con_id: str) -> Object | None:
        return self._delete(f"/connections/{segment(con_id)}")

    def test(self, con_id: str) -> Object:
        """Ask the endpoint for a sign of life."""
        return self._post(f"/connections/{segment(con_id)}/test", repeatable=True)


class HostPolicy(Resource):
    """``bw.host_policy``"""

    def list(self, limit: int | None = None, mode: str | None = None) -> Page:
        """The entries; ``["default"]`` of the answer is allow or block, ``["built_in"]`` what allow lets be read."""
        return self._page("/host_policy", mode=mode, limit=limit)

    def add(self, host_pattern: str, mode: str = "allow", idempotency_key: str | None = None) -> Object:
        """Allow or block a host: exact, or a leading ``*.``. Block beats allow, which ``warnings`` tell."""
        return self._create("/host_policy", given(host_pattern=host_pattern, mode=mode), idempotency_key)

    def delete(self, entry_id: str) -> Object | None:
        return self._delete(f"/host_policy/{segment(entry_id)}")

    def default(self, mode: str) -> Object:
        """``allow`` the usual hosts, or ``block`` all that no entry names."""
        answer: Object = self._http.json("PUT", "/host_policy/default", body={"mode": mode})
        return answer

    def starter_pack(self) -> Object:
        """Add GitHub, PyPI and Hugging Face as entries."""
        return self._post("/host_policy/starter_pack", repeatable=True)

    def blocked_hosts(self, limit: int | None = None) -> Page:
        """Hosts that any of your runs tried to reach and was not allowed to."""
        return self._page("/host_policy/blocked_hosts", limit=limit)
