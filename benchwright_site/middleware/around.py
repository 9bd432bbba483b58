"""The form of our middleware."""

from collections.abc import Awaitable, Callable
from typing import Any

from asgiref.sync import iscoroutinefunction, markcoroutinefunction
from django.http import HttpRequest, HttpResponseBase

View = Callable[[HttpRequest], Any]


class Around:
    """A middleware for both kinds of views: ``before`` may answer at once, ``after`` gets the answer."""

    sync_capable = True
    async_capable = True

    def __init__(self, get_response: View) -> None:
        self.get_response = get_response
        self.is_async = iscoroutinefunction(get_response)
        if self.is_async:
            markcoroutinefunction(self)

    def __call__(self, request: HttpRequest) -> HttpResponseBase | Awaitable[HttpResponseBase]:
        if self.is_async:
            return self._acall(request)
        found: HttpResponseBase = self.before(request) or self.get_response(request)
        return self.after(request, found)

    async def _acall(self, request: HttpRequest) -> HttpResponseBase:
        return self.after(request, self.before(request) or await self.get_response(request))

    def before(self, request: HttpRequest) -> HttpResponseBase | None:
        return None

    def after(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        return response
