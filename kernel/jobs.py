"""Wake-ups: a message that carries ids, sent after commit. Losing one costs time only; the sweeper finds the work."""

import logging
from functools import partial

from celery import current_app
from django.db import transaction

log = logging.getLogger(__name__)


def enqueue(name: str, *ids: str) -> None:
    """Wake whoever does ``name`` (e.g. ``runs.advance``) for these ids, once this transaction has committed."""
    transaction.on_commit(partial(_send, name, ids))


def _send(name: str, ids: tuple[str, ...]) -> None:
    try:
        current_app.send_task(name, args=list(ids), ignore_result=True, retry=False)
    except Exception:  # the database is the queue: a broker that is down must not fail a launch
        log.warning("wake-up %s was not sent; the sweeper will find it", name, exc_info=True)
