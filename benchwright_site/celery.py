"""Celery, as a wake-up bus and nothing more: ids in, no results out, redelivery harmless."""

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "benchwright_site.settings")

app = Celery("benchwright")
app.config_from_object("django.conf:settings", namespace="CELERY")  # read when first needed
