"""Typed readers of environment variables, so that a wrong value stops the start with a clear word."""

import hashlib
import os
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit


class BadSetting(SystemExit):
    """A setting in the environment can't be used; the process must not start with it."""

    def __init__(self, name: str, why: str) -> None:
        super().__init__(f"{name}: {why}")


def text(name: str, default: str = "") -> str:
    return os.environ.get(name, default)


def flag(name: str, default: bool = False) -> bool:
    raw = os.environ.get(name)
    if raw is None or raw == "":
        return default
    if raw.lower() in {"1", "true", "yes", "on"}:
        return True
    if raw.lower() in {"0", "false", "no", "off"}:
        return False
    raise BadSetting(name, f"expected 1 or 0, got {raw!r}")


def number(name: str, default: float, *, least: float | None = None) -> float:
    raw = os.environ.get(name)
    if raw is None or raw == "":
        return default
    try:
        value = float(raw)
    except ValueError:
        raise BadSetting(name, f"expected a number, got {raw!r}") from None
    if least is not None and not value >= least:
        raise BadSetting(name, f"must be at least {least}, got {raw}")
    return value


def count(name: str, default: int) -> int:
    """A whole number, 0 or more."""
    raw = os.environ.get(name) or str(default)
    if not (raw.isascii() and raw.isdecimal() and len(raw) <= 9):
        raise BadSetting(name, f"expected a whole number, got {raw!r}")
    return int(raw)


def networks(name: str) -> list[IPv4Network | IPv6Network]:
    """A comma-separated list of addresses and networks (``10.0.0.0/8,::1``)."""
    try:
        return [ip_network(word) for word in words(name)]
    except ValueError as error:
        raise BadSetting(name, str(error)) from None


def words(name: str, default: str = "") -> list[str]:
    """A comma-separated list."""
    return [word.strip() for word in os.environ.get(name, default).split(",") if word.strip()]


def data_folder() -> Path:
    """Where this installation keeps its database, artifacts, journal, keys and sockets.

    Root's home is usually closed to other users, while the database and the sandboxes run under
    users of their own, so root's default lies outside it.
    """
    chosen = os.environ.get("BENCHWRIGHT_DATA")
    if chosen:
        return Path(chosen).expanduser().resolve()
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        return Path("/var/lib/benchwright")
    home = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(home) / "benchwright"


def socket_folder(data: Path) -> Path:
    """Where our processes' sockets live: in the data folder, or in /tmp where its path is too long for a socket.

    The kernel takes at most 107 bytes (103 on macOS) for the path of a socket; the longest of ours is PostgreSQL's.
    """
    folder = data / "run"
    if len(os.fsencode(folder / "db" / ".s.PGSQL.5432")) <= 100:
        return folder
    return Path("/tmp") / f"benchwright-{os.getuid()}-{hashlib.sha256(os.fsencode(data)).hexdigest()[:12]}"  # noqa: S108


def database(url: str) -> dict[str, Any]:
    """Django's DATABASES entry for a PostgreSQL URL (`postgresql://user:pw@host:port/name?option=…`)."""
    parts = urlsplit(url)
    if parts.scheme not in {"postgres", "postgresql"}:
        raise BadSetting("DATABASE_URL", "only PostgreSQL is supported (postgresql://…)")
    options = dict(parse_qsl(parts.query))
    host = options.pop("host", None) or unquote(parts.hostname or "")
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": unquote(parts.path.lstrip("/")) or "postgres",
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": host,
        "PORT": str(parts.port or ""),
        "OPTIONS": options,
    }
