"""Celery, as a wake-up bus and nothing more: ids in, no results out, redelivery harmless."""

import gc
import logging
import os

from celery import Celery
from celery.signals import worker_ready, worker_shutdown

from benchwright_site import spool

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "benchwright_site.settings")
spool.register()

app = Celery("benchwright")
app.config_from_object("django.conf:settings", namespace="CELERY")  # read when first needed


def _leave(**_: object) -> None:
    """Everything is put away; what the interpreter itself would still tidy takes seconds and frees nothing."""
    logging.shutdown()
    os._exit(0)


def _settle(**_: object) -> None:
    """What is loaded by now stays: the collector need not look at it again for every batch of rows."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)


worker_ready.connect(_settle, weak=False)
worker_shutdown.connect(_leave, weak=False)  # Celery tells a worker's end only by its signal
