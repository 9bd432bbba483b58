"""Keys that scorer code shows to the gateway: bound to a lease, a cell and an attempt, and worth nothing elsewhere.

``claim`` says how often the cell's shard was claimed. From the second claim on, a gateway of another host may have made
calls for the cell, which are in the table.
"""

import binascii
import functools
import hashlib
import hmac
from typing import Any, NamedTuple

PREFIX = "bwk1"
EGRESS_PREFIX = "bwe1"  # tokens for the egress proxy
# Who has a way out: a solve sandbox, and a worker that looks for a benchmark and its rows. Each is judged as its phase.
EGRESS_ROLES = {"solve": "materialize", "find": "find", "analyze": "analyze"}
# Models beside the one under test have places of their own in a run's journal, below those of its cells.
SUT, DRIVER, JUDGE = "sut", "driver", "judge"
NARRATOR = "narrator"  # the driver again, asked by the run's owner how the run goes: also when it has ended
_JUDGED = -1_000_000  # the driver has the places above it
NARRATED = _JUDGED + 1  # and of these the lowest is the narrator's
_URL_SAFE = bytes.maketrans(b"+/", b"-_")
_INNER = bytes(byte ^ 0x36 for byte in range(256))
_OUTER = bytes(byte ^ 0x5C for byte in range(256))


class KeyParts(NamedTuple):
    lease: str
    ordinal: int
    attempt: int
    claim: int


def role_of(ordinal: int) -> str:
    """Whose call stands at this place of a run's journal."""
    if ordinal >= 0:
        return SUT
    if ordinal == NARRATED:
        return NARRATOR
    return DRIVER if ordinal > _JUDGED else JUDGE


def judged(ordinal: int) -> int:
    """The place of the judge's calls about a cell; of such a place again the cell."""
    return _JUDGED - ordinal


def mint(mac_key: str, lease: str, ordinal: int, attempt: int, claim: int) -> str:
    """``bwk1.<lease>.<ordinal>.<attempt>.<claim>.<mac>``; ``mac_key``: 64 hex digits that worker and gateway know."""
    text = f"{PREFIX}.{lease}.{ordinal}.{attempt}.{claim}"
    return f"{text}.{_mac(_halves(mac_key), text).decode()}"


def egress_token(mac_key: str, lease: str, role: str = "solve") -> str:
    """``bwe1.<lease>.<role>.<mac>``: what whoever acts for a run in that role shows to the egress proxy."""
    text = f"{EGRESS_PREFIX}.{lease}.{role}"
    return f"{text}.{_mac(_halves(mac_key), text).decode()}"


def same(token: str, shown: str) -> bool:
    """Whether a token that was shown is the one, in a time that tells nothing of it."""
    return hmac.compare_digest(token.encode(), shown.encode("utf-8", "surrogatepass"))


class Reader:
    """Reads the keys of one lease."""

    __slots__ = ("_halves", "_lease")

    def __init__(self, mac_key: str, lease: str) -> None:
        """ValueError where ``mac_key`` is not 64 hex digits."""
        self._halves = _halves(mac_key)
        self._lease = lease

    def read(self, key: str) -> KeyParts | None:
        """What a key says, or None unless it was minted with this mac key for this lease."""
        text, dot, mac = key.rpartition(".")
        if not dot or not hmac.compare_digest(mac.encode(), _mac(self._halves, text)):
            return None
        prefix, named, ordinal, attempt, claim = text.split(".")
        if prefix != PREFIX or named != self._lease:
            return None
        return KeyParts(named, int(ordinal), int(attempt), int(claim))


def read(mac_key: str, lease: str, key: str) -> KeyParts | None:
    """What a key says, or None unless it was minted with ``mac_key`` for ``lease``."""
    return Reader(mac_key, lease).read(key)


@functools.lru_cache(maxsize=64)
def _halves(mac_key: str) -> tuple[Any, Any]:
    """HMAC's two halves after their first block: each key then costs two copies instead of a new HMAC (RFC 2104)."""
    key = bytes.fromhex(mac_key)
    if len(key) != 32:
        raise ValueError("a mac key is 64 hex digits")
    padded = key.ljust(64, b"\0")
    return hashlib.sha256(padded.translate(_INNER)), hashlib.sha256(padded.translate(_OUTER))


def _mac(halves: tuple[Any, Any], text: str) -> bytes:
    inner, outer = halves[0].copy(), halves[1].copy()
    inner.update(text.encode())
    outer.update(inner.digest())
    return binascii.b2a_base64(outer.digest(), newline=False)[:22].translate(_URL_SAFE)
