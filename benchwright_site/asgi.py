"""The ASGI door: pages, API, streams and sockets."""

import os

import django
from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIHandler, ASGIRequest
from django.core.handlers.base import BaseHandler
from django.http import HttpResponseBase

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "benchwright_site.settings")
django.setup(set_prefix=False)  # before what imports models


class OneThread(ASGIHandler):
    """Runs a request's middleware and view in one thread, then sends or streams the response from the event loop.

    Django's own chain hops between loop and thread at every middleware: four times the CPU of the request itself.
    """

    def __init__(self) -> None:
        BaseHandler.__init__(self)
        self.load_middleware(is_async=False)

    async def get_response_async(self, request: ASGIRequest) -> HttpResponseBase:  # type: ignore[override]
        return await sync_to_async(self.get_response, thread_sensitive=True)(request)


http = OneThread()

from channels.auth import AuthMiddlewareStack  # noqa: E402
from channels.routing import ProtocolTypeRouter, URLRouter  # noqa: E402
from channels.security.websocket import AllowedHostsOriginValidator  # noqa: E402

from runs.routing import websocket_urlpatterns  # noqa: E402

application = ProtocolTypeRouter(
    {
        "http": http,
        "websocket": AllowedHostsOriginValidator(AuthMiddlewareStack(URLRouter(websocket_urlpatterns))),
    }
)
