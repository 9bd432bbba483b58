"""Identifiers: UUIDv7 for runs, prefixed UUID and ULID for the rest. All sort by creation time."""

import os
import random
import time
import uuid

_CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_PAIRS = [a + b for a in _CROCKFORD for b in _CROCKFORD]


def uuid7() -> uuid.UUID:
    """A version 7 UUID (RFC 9562 §5.7): 48 bits of milliseconds, then random."""
    value = (time.time_ns() // 1_000_000) << 80 | int.from_bytes(os.urandom(10), "big")
    value = value & ~(0xF << 76) | 0x7 << 76
    return uuid.UUID(int=value & ~(0x3 << 62) | 0x2 << 62)


def ulid() -> str:
    """26 characters of Crockford base 32: 48 bits of milliseconds, 80 random (unlike others', but no secret)."""
    value = (time.time_ns() // 1_000_000) << 80 | random.getrandbits(80)  # reseeded after a fork
    return "".join([_PAIRS[value >> shift & 1023] for shift in range(120, -1, -10)])


def prefixed_ulid(prefix: str) -> str:
    """``sec_01J…`` and the like; ``prefix`` without the underscore."""
    return f"{prefix}_{ulid()}"


def prefixed_uuid(prefix: str) -> str:
    """``bm_<uuid>`` and the like; ``prefix`` without the underscore."""
    return f"{prefix}_{uuid7()}"
