"""Which folder belongs to whom, where the parts have users of their own. Done at each start; a second time is cheap."""

import os
from collections.abc import Iterator
from pathlib import Path

from django.conf import settings

from benchwright_site.serve.walls.people import People
from secrets_vault.sealing import private_files

SHARED = 0o1771  # each may make what it misses there (a socket, a lost broker), and none may take another's away


def hand_over(people: People) -> None:
    """Give folders and keys to those who need them. OSError where root itself may not."""
    vault, house = people.vault, people.house
    for folder in (
        settings.BROKER_DIR,
        settings.ARTIFACTS_DIR,
        settings.SNAPSHOTS_DIR,
        settings.DATA_DIR / "cache",
        settings.DATA_DIR / "logs",
    ):
        _give(Path(folder), house, house, 0o750)
    _give(settings.GATEWAY_JOURNAL_DIR, vault, house, 0o700)
    for folder in (settings.DATA_DIR, settings.RUN_DIR):
        _set(folder, 0, house, SHARED)
    _set(settings.KEYS_DIR, 0, house, 0o750)
    _set(settings.KEYS_DIR / "django", 0, house, 0o640)
    for file in (*private_files(settings.KEYS_DIR), Path(settings.EGRESS_AUTHORITY)):
        _set(file, vault, house, 0o600)


def _give(folder: Path, uid: int, gid: int, mode: int) -> None:
    """The folder and all in it. The folder itself comes last, so that what was cut short is done again."""
    folder.mkdir(parents=True, exist_ok=True)
    if folder.stat().st_uid != uid:
        for path in _inside(folder):
            os.chown(path, uid, gid, follow_symlinks=False)
    _set(folder, uid, gid, mode)


def _inside(folder: Path) -> Iterator[str]:
    for home, folders, files in os.walk(folder):
        yield from (os.path.join(home, name) for name in (*folders, *files))


def _set(path: Path, uid: int, gid: int, mode: int) -> None:
    if path.exists():
        os.chown(path, uid, gid)
        path.chmod(mode)
