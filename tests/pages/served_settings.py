"""The tests' settings for a server that a real browser visits: static files straight from their sources."""

from tests.settings import *  # noqa: F403

WHITENOISE_USE_FINDERS = True
WHITENOISE_AUTOREFRESH = True
ALLOWED_HOSTS = ["127.0.0.1"]
