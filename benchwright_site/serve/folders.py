"""What must lie ready before any part starts: folders, keys, enough file descriptors."""

import contextlib
import os
import resource
import secrets
from pathlib import Path

from django.conf import settings

from secrets_vault.authority import ensure_authority
from secrets_vault.sealing import ensure_keys

SUBFOLDERS = ("broker", "broker/control", "journal", "keys", "runtime", "cache", "logs")


class FolderTrouble(RuntimeError):
    """The data folder can't be used; the message says why."""


def ensure_folders() -> None:
    """Make the data folder and what belongs in it. Raises FolderTrouble."""
    data: Path = settings.DATA_DIR
    # As root the database and the sandboxes run under users of their own, which must be able to pass through.
    passable = 0o711 if os.geteuid() == 0 else 0o700
    try:
        data.mkdir(parents=True, exist_ok=True, mode=0o755)
        _close(data, passable)
        for name in SUBFOLDERS:
            (data / name).mkdir(parents=True, exist_ok=True)
        _close(data / "keys", 0o700)
    except OSError as trouble:
        raise FolderTrouble(f"the data folder {data} can't be used: {trouble.strerror} ({trouble.filename})") from None
    _private(settings.RUN_DIR, passable)


def _private(folder: Path, mode: int) -> None:
    """A folder for sockets may lie in /tmp, where others could have made it before us."""
    with contextlib.suppress(FileExistsError):
        folder.mkdir(parents=True, mode=0o700)
    found = folder.lstat()
    if folder.is_symlink() or found.st_uid != os.geteuid():
        raise FolderTrouble(f"{folder} belongs to somebody else; remove it, or choose a shorter data folder")
    _close(folder, mode)


def _close(folder: Path, mode: int) -> None:
    """One that was given to the parts' users (`walls/owners.py`) has a mode of its own."""
    if folder.stat().st_gid == os.getegid():
        folder.chmod(mode)


def ensure_secrets() -> None:
    """Django's key, the vault's key pair and the egress proxy's authority, made once, readable by us alone."""
    kept = settings.KEYS_DIR / "django"
    if not kept.exists():
        part = kept.with_name("django.part")
        part.touch(mode=0o600)
        part.write_text(secrets.token_urlsafe(48))
        part.rename(kept)
    ensure_keys(settings.KEYS_DIR)
    ensure_authority(settings.KEYS_DIR)


def raise_file_limit(wanted: int = 65536) -> None:
    """A thousand open streams need more descriptors than the usual 1,024."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    aim = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if soft < aim:
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (aim, hard))
