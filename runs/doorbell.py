"""Telling readers that a run has new events. Only a hint: the events are stored first, and readers also look by
themselves every second."""

import logging
import threading
from uuid import UUID

import psycopg

CHANNEL = "bw_run"
PAUSE_SECONDS = 0.05

log = logging.getLogger(__name__)


class Bell:
    """Rings from a small thread with its own connection, per run at most once in 50 ms.

    NOTIFY takes a database-wide lock at commit, so it never rides in a writer's transaction. ``ring`` returns at
    once and never raises; call it after the commit.
    """

    def __init__(self, conninfo: str, pause: float = PAUSE_SECONDS) -> None:
        self._conninfo = conninfo
        self._pause = pause
        self._due: set[str] = set()
        self._changed = threading.Condition()
        self._closed = False
        self._thread: threading.Thread | None = None

    def ring(self, run_id: UUID | str) -> None:
        with self._changed:
            if self._closed:
                return
            self._due.add(str(run_id))
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="doorbell", daemon=True)
                self._thread.start()
            self._changed.notify()

    def close(self) -> None:
        """Ring what is due and stop."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        if self._thread is not None:
            self._thread.join(timeout=5)

    def _work(self) -> None:
        connection: psycopg.Connection[tuple[object, ...]] | None = None
        while (due := self._take()) is not None:
            try:
                if connection is None or connection.closed:
                    connection = psycopg.connect(self._conninfo, autocommit=True)
                connection.execute("SELECT pg_notify(%s, run) FROM unnest(%s::text[]) AS run", (CHANNEL, due))
            except psycopg.Error:
                log.debug("the doorbell has no database just now; readers will look by themselves", exc_info=True)
                if connection is not None:
                    connection.close()
            with self._changed:
                self._changed.wait_for(lambda: self._closed, timeout=self._pause)
        if connection is not None:
            connection.close()

    def _take(self) -> list[str] | None:
        """What is due, waiting for it; None when closed and nothing is left."""
        with self._changed:
            self._changed.wait_for(lambda: self._due or self._closed)
            due, self._due = sorted(self._due), set()
        return due or None
