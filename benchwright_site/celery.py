"""Celery, as a wake-up bus and nothing more: ids in, no results out, redelivery harmless."""

import logging
import os

from celery import Celery
from celery.signals import worker_shutdown

from benchwright_site import spool

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "benchwright_site.settings")
spool.register()

app = Celery("benchwright")
app.config_from_object("django.conf:settings", namespace="CELERY")  # read when first needed


def _leave(**_: object) -> None:
    """Everything is put away; what the interpreter itself would still tidy takes seconds and frees nothing."""
    logging.shutdown()
    os._exit(0)


worker_shutdown.connect(_leave, weak=False)  # Celery tells a worker's end only by its signal
