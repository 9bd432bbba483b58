"""What every resource is made of."""

from collections.abc import Mapping
from typing import Any

from .._http import Http, new_key
from .._objects import Object
from .._pages import Page

# What stands at /collection (POST) and at /collection/{id}, where keys are kept and used.
_OBJECTS = {"connections": "connection", "secrets": "secret"}


class Resource:
    """A group of calls over one transport."""

    def __init__(self, http: Http) -> None:
        self._http = http

    def _get(self, path: str, **params: Any) -> Object:
        return self._asked("GET", path, params=params)

    def _page(self, path: str, **params: Any) -> Page:
        """A list; ``limit`` is the page's size, ``data`` goes on by itself."""

        def fetch(token: str) -> Mapping[str, Any]:
            return self._listed(path, {**params, "page_token": token})

        return Page(self._listed(path, params), fetch)

    def _listed(self, path: str, params: Mapping[str, Any]) -> Mapping[str, Any]:
        answer = self._http.json("GET", path, params=params)
        if not isinstance(answer, Mapping) or not isinstance(answer.get("data"), list):
            raise self._http.stranger("GET", path, "a list")
        return answer

    def _asked(self, method: str, path: str, **options: Any) -> Object:
        """The object asked for. Raises ConfigError where a server answers that has no such thing."""
        answer = self._http.json(method, path, **options)
        collection, _, rest = path.strip("/").partition("/")
        wanted = None if "/" in rest else _OBJECTS.get(collection)
        if not isinstance(answer, Object) or (wanted and answer.get("object") != wanted):
            raise self._http.stranger(method, path, f"a {wanted or 'JSON object'}")
        return answer

    def _post(self, path: str, body: Any = None, **options: Any) -> Object:
        return self._asked("POST", path, body={} if body is None else body, **options)

    def _create(self, path: str, body: Any, idempotency_key: str | None, **options: Any) -> Object:
        """A POST that creates or costs: always under a key, so that a retry never doubles it."""
        return self._post(path, body, key=idempotency_key or new_key(), **options)

    def _patch(self, path: str, body: Any, if_match: str | None = None) -> Object:
        return self._asked("PATCH", path, body=body, if_match=if_match)

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
