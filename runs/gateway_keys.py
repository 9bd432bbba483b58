"""Keys that scorer code shows to the gateway: bound to a lease, a cell and an attempt, and worth nothing elsewhere."""

import base64
import hmac
from typing import NamedTuple

PREFIX = "bwk1"


class KeyParts(NamedTuple):
    lease: str
    ordinal: int
    attempt: int


def mint(mac_key: str, lease: str, ordinal: int, attempt: int) -> str:
    """``bwk1.<lease>.<ordinal>.<attempt>.<mac>``; ``mac_key`` is 64 hex digits, known to worker and gateway only."""
    text = f"{PREFIX}.{lease}.{ordinal}.{attempt}"
    return f"{text}.{_mac(mac_key, text)}"


def read(mac_key: str, lease: str, key: str) -> KeyParts | None:
    """What a key says, or None unless it was minted with ``mac_key`` for ``lease``."""
    text, dot, mac = key.rpartition(".")
    if not dot or not hmac.compare_digest(mac.encode(), _mac(mac_key, text).encode()):
        return None
    prefix, named, ordinal, attempt = text.split(".")
    if prefix != PREFIX or named != lease:
        return None
    return KeyParts(named, int(ordinal), int(attempt))


def _mac(mac_key: str, text: str) -> str:
    digest = hmac.digest(bytes.fromhex(mac_key), text.encode(), "sha256")
    return base64.urlsafe_b64encode(digest)[:22].decode()
