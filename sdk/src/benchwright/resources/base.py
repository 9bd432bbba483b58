"""What every resource is made of."""

from collections.abc import Mapping
from typing import Any

from .._http import Http, new_key
from .._objects import Object
from .._pages import Page


class Resource:
    """A group of calls over one transport."""

    def __init__(self, http: Http) -> None:
        self._http = http

    def _get(self, path: str, **params: Any) -> Object:
        answer: Object = self._http.json("GET", path, params=params)
        return answer

    def _page(self, path: str, **params: Any) -> Page:
        """A list; ``limit`` is the page's size, ``data`` goes on by itself."""

        def fetch(token: str) -> Mapping[str, Any]:
            following: Mapping[str, Any] = self._http.json("GET", path, params={**params, "page_token": token})
            return following

        return Page(self._http.json("GET", path, params=params), fetch)

    def _post(self, path: str, body: Any = None, **options: Any) -> Object:
        answer: Object = self._http.json("POST", path, body={} if body is None else body, **options)
        return answer

    def _create(self, path: str, body: Any, idempotency_key: str | None, **options: Any) -> Object:
        """A POST that creates or costs: always under a key, so that a retry never doubles it."""
        return self._post(path, body, key=idempotency_key or new_key(), **options)

    def _patch(self, path: str, body: Any, if_match: str | None = None) -> Object:
        answer: Object = self._http.json("PATCH", path, body=body, if_match=if_match)
        return answer

    def _delete(self, path: str) -> Object | None:
        answer: Object | None = self._http.json("DELETE", path)
        return answer


def filters_as_params(filters: Mapping[str, Any] | None) -> dict[str, Any]:
    """``{"status": "ok", "started_at": {"gte": t}, "metadata.sweep": "a"}`` as query parameters."""
    params: dict[str, Any] = {}
    for name, value in (filters or {}).items():
        field, dot, rest = name.partition(".")
        if isinstance(value, Mapping):
            params |= {f"{name}[{inner}]": item for inner, item in value.items()}
        else:
            params[f"{field}[{rest}]" if dot else name] = value
    return params
