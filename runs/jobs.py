"""Celery's tasks: a wake-up that carries a run's id. No rules here."""

import os
import socket
import threading
import uuid
from functools import cache

from celery import shared_task
from celery.signals import worker_shutting_down
from django.db import close_old_connections

from kernel.database import conninfo
from runs import pipeline
from runs.doorbell import Bell

STOPPING = threading.Event()


@cache
def _bell() -> Bell:
    return Bell(conninfo())


@worker_shutting_down.connect  # Celery tells a worker's end only by its signal
def _stop(**_: object) -> None:
    STOPPING.set()


@shared_task(name="runs.advance")
def advance(run_id: str) -> None:
    """Carry this run forward as far as this worker can."""
    owner = f"{socket.gethostname()}:{os.getpid()}:{uuid.uuid4().hex[:8]}"
    close_old_connections()
    try:
        pipeline.advance(run_id, owner, _bell(), STOPPING)
    finally:
        close_old_connections()
