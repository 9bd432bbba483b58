"""The front of the house: settings, urls, the two doors, Celery's wiring."""

from benchwright_site.celery import app as celery_app

__all__ = ["celery_app"]
