"""Provider keys in the vault: written, never read back."""

from collections.abc import Mapping, Sequence
from typing import Any

from .._http import given, new_key, segment
from .._objects import Object
from .._pages import Page
from .base import Resource


class Secrets(Resource):
    """``bw.secrets``"""

    def list(self, limit: int | None = None) -> Page:
        return self._page("/secrets", limit=limit)

    def get(self, sec_id: str) -> Object:
        """Name, rules and a masked preview; never the value."""
        return self._get(f"/secrets/{segment(sec_id)}")

    def create(
        self,
        name: str,
        value: str,
        rules: Sequence[Mapping[str, Any]] | None = None,
        description: str | None = None,
        idempotency_key: str | None = None,
    ) -> Object:
        """Store a key. A rule is ``{"host_pattern", "inject_kind": bearer|header|basic|query, "inject_target"}``."""
        body = given(name=name, value=value, rules=rules, description=description)
        return self._create("/secrets", body, idempotency_key)

    def update(
        self,
        sec_id: str,
        *,
        value: str | None = None,
        rules: Sequence[Mapping[str, Any]] | None = None,
        name: str | None = None,
        description: str | None = None,
        idempotency_key: str | None = None,
        if_match: str | None = None,
    ) -> Object:
        """Rotate or rename. Runs that are going keep the old value."""
        body = given(name=name, value=value, rules=rules, description=description)
        key = idempotency_key or new_key()
        path = f"/secrets/{segment(sec_id)}"
        answer: Object = self._http.json("PATCH", path, body=body, key=key, if_match=if_match)
        return answer

    def uses(
        self,
        sec_id: str,
        run: str | None = None,
        host: str | None = None,
        sort: str | None = None,
        limit: int | None = None,
    ) -> Page:
        """What it was used for: run, host, path, version, how often, first and last time. Newest first."""
        return self._page(f"/secrets/{segment(sec_id)}/uses", run=run, host=host, sort=sort, limit=limit)

    def delete(self, sec_id: str) -> Object | None:
        return self._delete(f"/secrets/{segment(sec_id)}")
