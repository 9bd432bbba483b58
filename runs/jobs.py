"""Celery's tasks: a wake-up that carries a run's id. No rules here."""

import os
import socket
import threading
import uuid
from functools import cache

from celery import shared_task
from celery.signals import worker_init, worker_shutting_down
from django.db import close_old_connections

from kernel.database import conninfo
from runs import pipeline
from runs.compute.table import COMPUTE
from runs.doorbell import Bell
from runs.harnesses.table import HARNESSES
from runs.phases.table import PHASES

STOPPING = threading.Event()
_turn = threading.Lock()
_busy: dict[str, threading.Event] = {}  # run -> how to tell its engine to halt


@cache
def _bell() -> Bell:
    return Bell(conninfo())


@worker_shutting_down.connect  # Celery tells a worker's end only by its signal
def _stop(**_: object) -> None:
    STOPPING.set()


@worker_init.connect
def _load(**_: object) -> None:
    """Load what a run needs before the first one waits for it."""
    for table in (PHASES, HARNESSES, COMPUTE):
        for name in table:
            table[name]


@shared_task(name="runs.advance")
def advance(run_id: str) -> None:
    """Carry this run forward as far as this worker can."""
    halting = threading.Event()
    with _turn:
        # One engine a run and process: the sweeper rings while shards wait, and other processes join by themselves.
        at_work = _busy.setdefault(run_id, halting)
    if at_work is not halting:
        if pipeline.halt_is_due(run_id):
            at_work.set()
        return
    owner = f"{socket.gethostname()}:{os.getpid()}:{uuid.uuid4().hex[:8]}"
    close_old_connections()
    try:
        pipeline.advance(run_id, pipeline.Worker(owner, _bell(), STOPPING, halting))
    finally:
        with _turn:
            _busy.pop(run_id, None)
        close_old_connections()
