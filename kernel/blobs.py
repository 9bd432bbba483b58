"""Files named by what they hold. One is there whole or not at all, whatever dies when."""

import hashlib
import os
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

from kernel.faults import fault

_PART = ".part"


class Blobs:
    """A folder of files, each under the SHA-256 (hex) of its bytes."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def put(self, data: bytes) -> str:
        """Store bytes durably; returns their name. The same bytes are stored once. Raises OSError (a full disk)."""
        name = hashlib.sha256(data).hexdigest()
        path = self._path(name)
        try:
            os.utime(path)  # whoever looks for files that nothing refers to leaves fresh ones alone
        except FileNotFoundError:
            self._write(path, data)
        fault("A2")
        return name

    def _write(self, path: Path, data: bytes) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f"{uuid.uuid4().hex}{_PART}")
        try:
            with part.open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            fault("A1")
            part.replace(path)
        except OSError:
            part.unlink(missing_ok=True)
            raise
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def has(self, name: str) -> bool:
        return self._path(name).is_file()

    def read(self, name: str, start: int, size: int) -> bytes:
        """``size`` bytes from ``start`` on. Raises FileNotFoundError."""
        with self._path(name).open("rb") as file:
            file.seek(start)
            return file.read(size)

    def remove(self, name: str) -> None:
        self._path(name).unlink(missing_ok=True)

    def untouched(self, seconds: float) -> Iterator[str]:
        """Names of files that nobody stored again for so long. Torn files of that age are removed on the way."""
        until = time.time() - seconds
        for folder in sorted(self._folder.iterdir()) if self._folder.is_dir() else ():
            for entry in os.scandir(folder):
                try:
                    if entry.stat().st_mtime > until:
                        continue
                except FileNotFoundError:
                    continue
                if entry.name.endswith(_PART):
                    Path(entry.path).unlink(missing_ok=True)
                else:
                    yield entry.name

    def _path(self, name: str) -> Path:
        return self._folder / name[:2] / name
