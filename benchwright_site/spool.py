"""The folder of files that carries wake-ups where there is no broker.

Kombu's own transport writes a message in place, so a reader can catch it half-written and its worker stops for good.
Here a message appears whole, by rename, and one that can't be read is left out: a wake-up may be lost, the sweeper
rings again.
"""

import os
import uuid
from pathlib import Path
from queue import Empty
from time import monotonic
from typing import Any

from kombu.transport import TRANSPORT_ALIASES, filesystem
from kombu.utils.json import dumps, loads


class Channel(filesystem.Channel):
    def _put(self, queue: str, payload: Any, **_: Any) -> None:  # type: ignore[override]  # its parents differ
        folder, name = Path(self.data_folder_out), uuid.uuid4()
        part = folder / f".{name}.part"
        part.write_text(dumps(payload))  # type: ignore[no-untyped-call]
        part.replace(folder / f"{round(monotonic() * 1000)}_{name}.{queue}.msg")

    def _get(self, queue: str, timeout: Any = None) -> Any:
        folder = Path(self.data_folder_in)
        for name in sorted(os.listdir(folder)):
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


class Transport(filesystem.Transport):
    Channel = Channel


def register() -> None:
    """Let ``filesystem://`` mean this transport."""
    TRANSPORT_ALIASES["filesystem"] = "benchwright_site.spool:Transport"
