"""A small HTTP/1.1 client for one address, the model gateway on this sandbox's own loopback.

It keeps connections, speaks only what a POST needs, and never sends a request twice: a call costs money, so
only a connection that was found closed BEFORE anything was sent is replaced.
"""

import _socket as socket  # the plain module: quicker to load, and its calls are the same
import errno
import json
import os
import struct
import time

import bench_task
import bw_environ

HEAD_CAP = 256 << 10
DEFAULT_TIMEOUT = 600.0
FIRST_READ, READ = 16 << 10, 256 << 10  # bytes
AT_ONCE = 64 << 10  # bytes that a connection takes without waiting, most often
ESTABLISHED = b"\x01"  # the state in the first byte of TCP_INFO
FRESH = 0.5  # seconds
CHAT = "/v1/chat/completions"
dumps = json.JSONEncoder(allow_nan=False).encode


class ConnectFailed(OSError):
    """Nobody listens."""


class ConnectTimedOut(OSError):
    """No connection in time."""


class ReadTimedOut(OSError):
    """No byte in time."""


class Broken(OSError):
    """The connection ended before the answer did, or the answer is not HTTP."""


class Address:
    """Where the gateway is, and what the chat calls send by default."""

    port = 0
    model = ""
    host_line = b""
    idle: list = []


def configure(port: int, model: str) -> None:
    Address.port = port
    Address.model = model
    Address.host_line = b"Host: 127.0.0.1:%d\r\n" % port


def head(path: str, headers: list, body: bytes) -> bytes:
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers)
    return b"POST %s HTTP/1.1\r\n%s%s\r\n" % (path.encode(), Address.host_line, lines.encode("latin-1")) + body


class Answer:
    """One response, filled from bytes as they come. ``headers``: list of (name, value)."""

    def __init__(self) -> None:
        self.buffer = bytearray()
        self.status = 0
        self.reason = ""
        self.version = 11
        self.headers: list = []
        self.lower: dict = {}  # the same by small name; of several, the last
        self.body = b""
        self.length = None  # bytes; None = chunked or until the connection ends
        self.chunked = False
        self.keep = True
        self.done = False

    def feed(self, data: bytes) -> bool:
        """True when the answer is whole. Raises Broken."""
        if not self.status and not self.buffer:
            data = self._quick_head(data)
            if self.status and len(data) == self.length:
                self._whole(data)
                return True
        self.buffer += data
        if not self.status and not self._head():
            return False
        if self.length is not None:
            if len(self.buffer) >= self.length:
                self.keep = self.keep and len(self.buffer) == self.length
                self._whole(bytes(self.buffer[: self.length]))
        elif self.chunked:
            self._chunks()
        return self.done

    def end(self) -> bool:
        """The connection ended: whole only if that is how the body ends."""
        if self.status and self.length is None and not self.chunked and not self.done:
            self.keep = False
            self._whole(bytes(self.buffer))
        return self.done

    def _whole(self, body: bytes) -> None:
        self.body = body
        self.done = True

    def _quick_head(self, data: bytes) -> bytes:
        """Most answers come whole: no buffer is needed then. Returns what follows the head."""
        end = data.find(b"\r\n\r\n")
        if end < 0:
            return data
        self._lines(data[:end])
        return data[end + 4 :]

    def _head(self) -> bool:
        while not self.status:
            end = self.buffer.find(b"\r\n\r\n")
            if end < 0:
                if len(self.buffer) > HEAD_CAP:
                    raise Broken("endless headers")
                return False
            head = bytes(self.buffer[:end])
            del self.buffer[: end + 4]
            self._lines(head)
        return True

    def _lines(self, head: bytes) -> None:
        """Read a head; one that only announces another (1xx) leaves ``status`` at 0."""
        lines = head.decode("latin-1").split("\r\n")
        version, _, rest = lines[0].partition(" ")
        code, _, self.reason = rest.partition(" ")
        if not version.startswith("HTTP/1.") or not code.isdigit():
            raise Broken("not an HTTP answer")
        if code.startswith("1"):
            return
        self.version = 10 if version == "HTTP/1.0" else 11
        self.headers = [(name, value.strip()) for name, _, value in (line.partition(":") for line in lines[1:])]
        self.lower = {name.lower(): value for name, value in self.headers}
        self._framing(self.lower, int(code))

    def _framing(self, headers: dict, status: int) -> None:
        self.status = status
        connection = headers.get("connection", "").lower()
        self.keep = connection != "close" and (self.version == 11 or connection == "keep-alive")
        if status in (204, 304):
            self.length = 0
        elif "chunked" in headers.get("transfer-encoding", "").lower():
            self.chunked = True
        elif headers.get("content-length", "").isdigit():
            self.length = int(headers["content-length"])

    def _chunks(self) -> None:
        """Reads from the start each time more comes; answers are rarely chunked."""
        at, parts = 0, []
        while True:
            line_end = self.buffer.find(b"\r\n", at)
            if line_end < 0:
                return
            try:
                size = int(bytes(self.buffer[at:line_end]).split(b";")[0], 16)
            except ValueError:
                raise Broken("a chunk without a size") from None
            if size == 0:
                trailer = self.buffer.find(b"\r\n\r\n", line_end)
                if trailer >= 0:
                    self._whole(b"".join(parts))
                return
            if len(self.buffer) < line_end + 2 + size + 2:
                return
            parts.append(bytes(self.buffer[line_end + 2 : line_end + 2 + size]))
            at = line_end + 2 + size + 2


# --- Threads -----------------------------------------------------------------------------------------------------


class Kernel:
    """``send`` of the C library, called without giving the turn to another thread as Python's own does.

    It doesn't wait, so nobody notices; with hundreds of threads, getting the turn back would cost more than sending.
    """

    send = None

    @staticmethod
    def prepare() -> None:
        try:
            import ctypes

            send = ctypes.PyDLL(None).send
            send.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_int)
            send.restype = ctypes.c_ssize_t
        except (ImportError, OSError, AttributeError):
            return
        Kernel.send = send


def transmit(connection, data: bytes) -> None:
    if Kernel.send and len(data) < AT_ONCE:
        sent = Kernel.send(connection.fileno(), data, len(data), socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL)
        if sent == len(data):
            return
        data = data[max(sent, 0) :]
    connection.sendall(data)


def post(path: str, headers: list, body: bytes, connect_timeout, read_timeout) -> Answer:
    """One POST from a thread. Timeouts in seconds or None. Raises the four exceptions above."""
    connection, timeout = take_idle() or (dial(connect_timeout), None)
    try:
        if timeout != read_timeout:
            set_timeout(connection, read_timeout)
        transmit(connection, head(path, headers, body))
        answer, size = Answer(), FIRST_READ
        while not answer.done:
            data = connection.recv(size)
            size = READ
            if not answer.feed(data) and not data and not answer.end():
                raise Broken("Remote end closed connection without response")
    except BlockingIOError:
        connection.close()
        raise ReadTimedOut(f"Read timed out. (read timeout={read_timeout})") from None
    except Broken:
        connection.close()
        raise
    except OSError as error:
        connection.close()
        raise Broken(str(error)) from error
    if answer.keep:
        Address.idle.append((connection, read_timeout, time.monotonic()))
    else:
        connection.close()
    return answer


def take_idle():
    """A kept connection on which nothing lies waiting (a waiting byte or an end means: closed by the gateway)."""
    while Address.idle:
        try:
            connection, timeout, since = Address.idle.pop()
        except IndexError:
            return None
        if usable(connection, since):
            return connection, timeout
        connection.close()
    return None


def usable(connection, since: float) -> bool:
    """Asked of the kernel in a way that lets no other thread in between while the connection was used just now."""
    try:
        if time.monotonic() - since < FRESH:
            return connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1) == ESTABLISHED
        connection.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def dial(timeout):
    connection = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        connection.settimeout(timeout)
        connection.connect(("127.0.0.1", Address.port))
    except TimeoutError as error:
        connection.close()
        raise ConnectTimedOut(str(error)) from error
    except OSError as error:
        connection.close()
        raise ConnectFailed(str(error)) from error
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.settimeout(None)
    return connection


def set_timeout(connection, seconds) -> None:
    """The kernel's own timeout: one call less per read than Python's."""
    seconds = seconds or 0
    value = struct.pack("@ll", int(seconds), int(seconds % 1 * 1_000_000))
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, value)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, value)


# --- Chat --------------------------------------------------------------------------------------------------------


def prepared(messages: list, params: dict):
    """(headers, body, timeout) of one chat request."""
    timeout = params.pop("timeout", DEFAULT_TIMEOUT)
    model = params.pop("model", Address.model)
    body = dumps({"model": model, "messages": messages, **params}).encode()
    headers = [("Content-Type", "application/json"), ("Content-Length", str(len(body)))]
    key = bw_environ.current_key.get() or os.environ.get(bw_environ.KEY)
    if key:
        headers.append(("Authorization", f"Bearer {key}"))
    return headers, body, timeout


def read_chat(answer: Answer) -> dict:
    if answer.status != 200:
        raise bench_task.ChatError(answer.status, answer.body.decode(errors="replace"))
    try:
        found = json.loads(answer.body)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise bench_task.ChatError(answer.status, "the answer is not a JSON object")
    return found


def chat_sync(messages: list, params: dict) -> dict:
    headers, body, timeout = prepared(messages, params)
    try:
        answer = post(CHAT, headers, body, timeout, timeout)
    except OSError as error:
        raise bench_task.ChatError(0, no_answer(error)) from error
    return read_chat(answer)


def no_answer(error: OSError) -> str:
    if error.errno == errno.ECONNREFUSED or isinstance(error, ConnectFailed):
        return "the model gateway can't be reached"
    return str(error)
