"""Connections to providers and compute, and the host policy."""

from typing import Any

from .._http import given, segment
from .._objects import Object
from .._pages import Page
from .base import Resource


class Connections(Resource):
    """``bw.connections``"""

    def list(self, kind: str | None = None, limit: int | None = None) -> Page:
        return self._page("/connections", kind=kind, limit=limit)

    def get(self, con_id: str) -> Object:
        return self._get(f"/connections/{segment(con_id)}")

    def create(self, name: str, provider: str, *, idempotency_key: str | None = None, **fields: Any) -> Object:
        """Set one up: ``kind`` (ai_model, compute), ``base_url``, ``secret`` (id or name), ``prices``, ``routing``.

        ``prices={"model": {"input": …, "output": …}}`` in dollars per million tokens (``"*"``: any model);
        ``routing={"upstream": "deepinfra", "quantization": "fp8"}`` pins a router;
        ``metadata={"limits": {"run": {"model_cost": 5}}}`` bounds what its key may spend in each run.
        """
        return self._create("/connections", {"name": name, "provider": provider, **fields}, idempotency_key)

    def update(self, con_id: str, *, if_match: str | None = None, **fields: Any) -> Object:
        """Change anything but kind and provider. Runs that are going keep what they were launched with."""
        return self._patch(f"/connections/{segment(con_id)}", fields, if_match)

    def delete(self, con_id: str) -> Object | None:
        return self._delete(f"/connections/{segment(con_id)}")

    def test(self, con_id: str, model: str | None = None) -> Object:
        """One tiny call: ``ok``, ``latency_ms``, ``served``, ``cost``, and what a ceiling would do (``cap``)."""
        return self._post(f"/connections/{segment(con_id)}/test", given(model=model), repeatable=True)


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
