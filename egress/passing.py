"""An answer's way through the proxy: unpacked, counted, cleaned of the values that were attached to its request."""

import zlib
from collections.abc import Callable

from egress.redaction import Events, Redactor, Stream

RATIO = 200  # unpacked to packed; honest text stays far below
RATIO_FROM = 1 << 20  # bytes unpacked, before the ratio says anything
PIECE = 1 << 18
UNPACKED = ("gzip", "x-gzip", "deflate")  # in which a value can hide; others are refused where there is one


class TooMuch(Exception):
    """The answer is larger, or swells more, than is passed on."""


class Unpacker:
    """gzip or deflate, never more than a piece at a time in memory."""

    def __init__(self, encoding: str) -> None:
        self.raw = encoding == "deflate"
        self.inflate = zlib.decompressobj(47 if not self.raw else 15)
        self.taken = self.given = 0

    def take(self, data: bytes) -> list[bytes]:
        """TooMuch; ValueError where it is broken."""
        self.taken += len(data)
        out = []
        while data:
            piece = self._piece(data)
            self.given += len(piece)
            if self.given > RATIO_FROM and self.given > RATIO * self.taken:
                raise TooMuch("it swells too much when it is unpacked")
            if piece:
                out.append(piece)
            data = self.inflate.unconsumed_tail or self._next_member()
        return out

    def _piece(self, data: bytes) -> bytes:
        try:
            return self.inflate.decompress(data, PIECE)
        except zlib.error:
            if self.raw and self.given == 0:  # deflate without its wrapping, as some servers mean it
                self.raw = False
                self.inflate = zlib.decompressobj(-15)
                return self.inflate.decompress(data, PIECE)
            raise ValueError("it can't be unpacked") from None

    def _next_member(self) -> bytes:
        if not self.inflate.eof or not self.inflate.unused_data:
            return b""
        data = self.inflate.unused_data
        self.inflate = zlib.decompressobj(47)
        return data


class Passage:
    """One answer's body. Called with each piece as it comes, and with nothing at the end.

    ``stop`` is called once with a code and words when the answer must not go on.
    """

    def __init__(
        self,
        redactor: Redactor,
        most: int,
        stop: Callable[[str, str], None],
        *,
        encoding: str = "",
        events: bool = False,
    ) -> None:
        self.cleaner = (Events(redactor) if events else Stream(redactor)) if redactor else None
        self.unpacker = Unpacker(encoding) if encoding else None
        self.most = most
        self.stop = stop
        self.size = 0
        self.stopped = False

    def __call__(self, data: bytes) -> list[bytes]:
        if self.stopped:
            return []
        try:
            return [piece for piece in self._pieces(data) if piece]
        except TooMuch as bad:
            self._end("upstream_limit", str(bad))
        except ValueError as bad:
            self._end("upstream_error", str(bad))
        except Exception as bad:  # whatever it is, what was not looked through does not pass
            self._end("upstream_error", f"it can't be looked through ({type(bad).__name__})")
        return []

    def _pieces(self, data: bytes) -> list[bytes]:
        if not data:
            return [self.cleaner.end()] if self.cleaner else []
        out = []
        for piece in self.unpacker.take(data) if self.unpacker else [data]:
            self.size += len(piece)
            if self.size > self.most:
                raise TooMuch(f"it has more than {self.most >> 20} MiB")
            out.append(self.cleaner.take(piece) if self.cleaner else piece)
        return out

    def _end(self, code: str, words: str) -> None:
        self.stopped = True
        self.stop(code, words)
