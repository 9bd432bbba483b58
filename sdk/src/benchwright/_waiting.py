"""Waiting for a run's end by asking for it."""

import time
from collections.abc import Callable

from ._http import Http
from ._objects import Object
from ._stream import PATIENCE
from .errors import APIConnectionError, NeedsInput, RateLimitError, ServerError, WaitTimeout

ENDED = frozenset({"ok", "failed", "halted"})


def wait_for(http: Http, read: Callable[[], Object], timeout: float | None, poll_interval: float) -> Object:
    """``read()`` until the run has ended. Asks more often at first, so that a short run is not waited for long.

    A server that is away is waited for as well, for PATIENCE seconds at a stretch.
    """
    begun = heard = time.monotonic()
    run: Object | None = None
    pause = min(0.1, poll_interval)
    while True:
        try:
            run = read()
            heard = time.monotonic()
        except (APIConnectionError, ServerError, RateLimitError):
            if time.monotonic() - heard > PATIENCE:
                raise
        else:
            if run["status"] in ENDED:
                return run
            if run["status"] == "needs_input":
                raise NeedsInput(run)
        left = None if timeout is None else begun + timeout - time.monotonic()
        if left is not None and left <= 0:
            name = f"Run {run['id']} is {run['status']}" if run else "The run could not be read"
            raise WaitTimeout(f"{name} after {timeout:g} s. It goes on: wait again, or stop it with runs.halt.", run)
        http.sleep(pause if left is None else min(pause, left))
        pause = min(poll_interval, pause * 1.6)
