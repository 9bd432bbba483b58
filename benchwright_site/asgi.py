"""The ASGI door: pages, API, streams and sockets."""

import os

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "benchwright_site.settings")
application = get_asgi_application()
