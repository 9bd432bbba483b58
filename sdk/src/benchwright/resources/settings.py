"""The account's settings."""

from typing import Any

from .._http import segment
from .._objects import Object
from .._pages import Page
from .base import Resource


class Settings(Resource):
    """``bw.settings``"""

    def list(self) -> Page:
        return self._page("/settings")

    def get(self, key: str) -> Object:
        return self._get(f"/settings/{segment(key)}")

    def set(self, key: str, value: Any) -> Object:
        answer: Object = self._http.json("PUT", f"/settings/{segment(key)}", body={"value": value})
        return answer

    def delete(self, key: str) -> Object | None:
        return self._delete(f"/settings/{segment(key)}")

    def schema(self) -> Object:
        """The keys that exist and what they may hold."""
        return self._get("/settings/schema")
