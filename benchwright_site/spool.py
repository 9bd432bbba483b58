"""The folder of files that carries wake-ups where there is no broker.

Kombu's own transport writes a message in place, so a reader can catch it half-written and its worker stops for good.
Here a message appears whole, by rename, and one that can't be read is left out: a wake-up may be lost, the sweeper
rings again. The folder itself may be emptied or removed at any time: it is made again, and a message goes to the queue
that its routing key names, whatever became of the files that say so.
"""

import os
import uuid
from pathlib import Path
from queue import Empty
from time import monotonic
from typing import Any

from kombu.exceptions import ChannelError
from kombu.transport import TRANSPORT_ALIASES, filesystem
from kombu.utils.json import dumps, loads


class Channel(filesystem.Channel):
    def _put(self, queue: str, payload: Any, **_: Any) -> None:  # type: ignore[override]  # its parents differ
        folder, name = Path(self.data_folder_out), uuid.uuid4()
        part = folder / f".{name}.part"
        text = dumps(payload)  # type: ignore[no-untyped-call]
        try:
            part.write_text(text)
        except FileNotFoundError:
            folder.mkdir(parents=True, exist_ok=True)
            part.write_text(text)
        part.replace(folder / f"{round(monotonic() * 1000)}_{name}.{queue}.msg")

    def _get(self, queue: str, timeout: Any = None) -> Any:
        folder = Path(self.data_folder_in)
        for name in sorted(self._names()):
            if name.partition(".")[2] != f"{queue}.msg":
                continue
            taken = folder / f".{name}.{os.getpid()}.taken"
            try:
                (folder / name).rename(taken)  # one reader gets it
                text = taken.read_text()
                taken.unlink()
                return loads(text)  # type: ignore[no-untyped-call]
            except (OSError, ValueError):
                continue
        raise Empty

    def _names(self) -> list[str]:
        try:
            return os.listdir(self.data_folder_in)
        except FileNotFoundError:
            return []

    def _size(self, queue: str) -> int:
        return sum(name.partition(".")[2] == f"{queue}.msg" for name in self._names())

    def get_table(self, exchange: str) -> list[Any]:
        """Who is bound to an exchange; nobody where the file that says so is gone or torn."""
        try:
            return list(super().get_table(exchange))  # type: ignore[no-untyped-call]
        except (ChannelError, ValueError):
            return []

    def _queue_bind(self, exchange: str, routing_key: str, pattern: str, queue: str) -> None:
        self.control_folder.mkdir(parents=True, exist_ok=True)
        try:
            super()._queue_bind(exchange, routing_key, pattern, queue)  # type: ignore[no-untyped-call]
        except (ChannelError, ValueError):  # its writer was killed half way
            self._exchange_file(exchange).unlink(missing_ok=True)  # type: ignore[no-untyped-call]
            super()._queue_bind(exchange, routing_key, pattern, queue)  # type: ignore[no-untyped-call]

    def _lookup(self, exchange: str, routing_key: str, default: str | None = None) -> list[str]:
        """Celery names its queues by their routing keys, so a binding that was lost is not missed."""
        return list(super()._lookup(exchange, routing_key, default)) or [routing_key]  # type: ignore[no-untyped-call]


class Transport(filesystem.Transport):
    Channel = Channel


def register() -> None:
    """Let ``filesystem://`` mean this transport."""
    TRANSPORT_ALIASES["filesystem"] = "benchwright_site.spool:Transport"
