"""What nobody needs any more, removed now and then: stored answers, rate windows, abandoned uploads, stray files."""

import logging
import time

from accounts import idempotency, rate_stores
from registry import uploads
from runs.artifacts import records

log = logging.getLogger(__name__)
TIDY_SECONDS = 600.0
_due = [0.0]  # on the clock of this process


def now_and_then() -> None:
    """Tidy, unless this process did so within TIDY_SECONDS. Several processes may do it at once without harm."""
    if time.monotonic() >= _due[0]:
        _due[0] = time.monotonic() + TIDY_SECONDS
        tidy()


def tidy() -> None:
    removed = {
        "stored answers": idempotency.purge(),
        "rate windows": rate_stores.purge(),
        "abandoned uploads": uploads.sweep_abandoned(),
        "files without a row": records.sweep_orphans(),
    }
    if any(removed.values()):
        log.info("tidied: %s", ", ".join(f"{count} {what}" for what, count in removed.items() if count))
