"""The WSGI door, for installations that serve API and pages apart from streams."""

import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "benchwright_site.settings")
application = get_wsgi_application()
