"""The sockets of runs."""

from channels.security.websocket import WebsocketDenier
from django.urls import path, re_path

from runs.consumers import RunConsumer

websocket_urlpatterns = [
    path("ws/runs/<uuid:run_id>", RunConsumer.as_asgi()),
    re_path("", WebsocketDenier.as_asgi()),
]
