"""Where the token and the server's address come from, and the profiles file.

``~/.config/benchwright/config.toml`` (``XDG_CONFIG_HOME`` honoured)::

    default_profile = "work"

    [profiles.work]
    base_url = "https://benchwright.ai"
    token = "bw_live_pat_…"
"""

import json
import os
import re
import tempfile
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from .errors import ConfigError

PUBLIC_SITE = "https://benchwright.ai"


@dataclass(frozen=True)
class Account:
    """Who calls which server. ``base_url`` has no trailing slash and no /v1."""

    token: str | None
    base_url: str
    profile: str | None = None
    source: str = ""  # where the token came from, for messages


def folder(variable: str, default: str) -> Path:
    """The user's folder named by an XDG variable; relative values are ignored, as XDG says."""
    value = os.environ.get(variable, "")
    return (Path(value) if value.startswith("/") else Path.home() / default) / "benchwright"


def path() -> Path:
    return folder("XDG_CONFIG_HOME", ".config") / "config.toml"


def load() -> dict[str, Any]:
    """The whole file, or {} when there is none. Raises ConfigError for one that can't be read."""
    try:
        return tomllib.loads(path().read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"{path()} can't be read: {error}. Mend or remove it, then `benchwright login`.") from error


def tidy(base_url: str) -> str:
    """The server's root from what a user wrote. Raises ConfigError when it is no http(s) address."""
    url = base_url.strip().rstrip("/").removesuffix("/v1").rstrip("/")
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigError(f"The base URL {base_url!r} is not an http(s) address, such as {PUBLIC_SITE}.")
    if parts.username or parts.password:
        raise ConfigError("The base URL must not hold a user name or password; the token goes into BW_PAT.")
    return url


def resolve(token: str | None = None, base_url: str | None = None, profile: str | None = None) -> Account:
    """Arguments win over BW_PAT and BW_BASE_URL, and these over the profile.

    A named profile beats the environment. A stored token is sent only to the address it was stored for.
    """
    wanted, named = profile, profile is not None
    config = load() if (named or not token or not base_url) else {}
    name, stored = _profile(config, wanted)
    env_token, env_url = (None, None) if named else (os.environ.get("BW_PAT"), os.environ.get("BW_BASE_URL"))
    url = tidy(base_url or env_url or stored.get("base_url") or PUBLIC_SITE)
    if token or env_token:
        found = (token or env_token or "").strip()
        return Account(found, url, name, "the argument" if token else "BW_PAT")
    home = tidy(stored.get("base_url") or PUBLIC_SITE)
    if stored.get("token") and home == url:
        return Account(str(stored["token"]), url, name, f"profile {name!r}")
    other = None if named else _profile_of(config, url)
    if other:
        return Account(str(config["profiles"][other]["token"]), url, other, f"profile {other!r}")
    return Account(None, url, name, "")


def store(profile: str, base_url: str, token: str) -> Path:
    """Write one profile, keeping the others, readable by this user only. The first one becomes the default."""
    config = load()
    profiles = dict(config.get("profiles") or {})
    profiles[profile] = {**profiles.get(profile, {}), "base_url": base_url, "token": token}
    config = {"default_profile": profile, **config, "profiles": profiles}
    target = path()
    target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=".config-")  # made with mode 0600
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(_toml(config))
    os.replace(temporary, target)
    return target


def _profile(config: Mapping[str, Any], wanted: str | None) -> tuple[str | None, Mapping[str, Any]]:
    profiles = config.get("profiles") or {}
    name = wanted or config.get("default_profile")
    if wanted and wanted not in profiles:
        known = ", ".join(sorted(profiles)) or "none"
        raise ConfigError(f"No profile {wanted!r} in {path()} (known: {known}). `benchwright login --profile {wanted}`")
    return (name, profiles[name]) if name in profiles else (None, {})


def _profile_of(config: Mapping[str, Any], url: str) -> str | None:
    for name, stored in (config.get("profiles") or {}).items():
        if stored.get("token") and tidy(stored.get("base_url") or PUBLIC_SITE) == url:
            return str(name)
    return None


def _toml(config: Mapping[str, Any], prefix: str = "") -> str:
    scalars = [f"{_key(k)} = {_value(v)}\n" for k, v in config.items() if not isinstance(v, Mapping)]
    tables = [
        (f"\n[{prefix}{_key(k)}]\n" if any(not isinstance(i, Mapping) for i in v.values()) else "")
        + _toml(v, f"{prefix}{_key(k)}.")
        for k, v in config.items()
        if isinstance(v, Mapping)
    ]
    return "".join(scalars + tables)


def _key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else json.dumps(key)


def _value(value: Any) -> str:
    if isinstance(value, list):
        return "[" + ", ".join(_value(item) for item in value) + "]"
    return json.dumps(value if isinstance(value, str | bool | int | float) else str(value), ensure_ascii=False)
