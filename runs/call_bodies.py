"""How request and response bodies rest in the journal table: large ones compressed, small ones as they are."""

import zlib

SMALL_BYTES = 1024
_ZLIB = b"\x78"  # first byte of every zlib stream that we write


def pack(body: bytes) -> bytes:
    """Bytes for the database. A body that would be mistaken for a compressed one is compressed, however small."""
    if len(body) < SMALL_BYTES and body[:1] != _ZLIB:
        return body
    return zlib.compress(body, 1)


def unpack(stored: bytes | memoryview | None) -> bytes:
    """The body again; empty for None."""
    if stored is None:
        return b""
    stored = bytes(stored)
    return zlib.decompress(stored) if stored[:1] == _ZLIB else stored
