"""Frames between the host and a role: 4 bytes of length, then JSON {"nonce": …, "messages": [...]}."""

import _socket  # the plain module: its Python half costs every role some milliseconds at its start
import json
import math
import os
import select
import struct
from _thread import allocate_lock
from collections import deque

LENGTH = struct.Struct(">I")
FRAME_CAP = 48 << 20  # the host refuses larger ones
READ, READ_MOST = 64 << 10, 1 << 20  # bytes
# The model key where no task runs (while the module is imported): clients made there are given the task's own
# key when they send. Worth nothing by itself.
NO_TASK = "bwk1.of-the-task"
FRAME_AIM = 1 << 20  # messages are gathered up to about this size
strict = json.JSONEncoder(allow_nan=False, separators=(",", ":")).encode
lenient = json.JSONEncoder(separators=(",", ":")).encode


class Channel:
    """The role's end. ``post`` may be called from any thread; ``receive`` from one."""

    def __init__(self, fd: int) -> None:
        os.set_inheritable(fd, False)
        self.socket = _socket.socket(fileno=fd)
        self.inbox = bytearray()
        self.room = READ
        self.poll = select.poll()
        self.poll.register(fd, select.POLLIN)
        self.nonce = ""
        self.outbox: deque = deque()
        self.sending = allocate_lock()

    def receive(self) -> list:
        """The messages of all frames that have come, at least one frame's; ends the process when the host is gone."""
        found = None
        while found is None:
            found = self.receive_some()
        return found

    def receive_some(self):
        """One read: the messages of what is whole now, None when no frame is."""
        data = self.socket.recv(self.room)
        if not data:
            os._exit(0)
        self.inbox += data
        return self.whole_frames()

    def whole_frames(self):
        inbox, at, found = self.inbox, 0, None
        self.room = READ
        while len(inbox) - at >= 4:
            size = LENGTH.unpack_from(inbox, at)[0]
            if len(inbox) - at - 4 < size:
                self.room = min(max(READ, size), READ_MOST)
                break
            messages = json.loads(inbox[at + 4 : at + 4 + size])["messages"]
            found = messages if found is None else found + messages
            at += 4 + size
        del inbox[:at]
        return found

    def ready(self, milliseconds: float) -> bool:
        """True as soon as a frame, or the end, can be received."""
        return bool(self.poll.poll(milliseconds))

    def post(self, message: dict) -> None:
        """Send at once. Raises TypeError or ValueError when the message is not JSON."""
        self.post_text(encode(message))

    def post_text(self, text: str) -> None:
        """The same for JSON text. Whoever finds the line free sends what all have left."""
        self.outbox.append(text)
        while self.outbox and self.sending.acquire(blocking=False):
            try:
                self.flush()
            finally:
                self.sending.release()

    def flush(self) -> None:
        while self.outbox:
            taken, size = [], 0
            while self.outbox and size < FRAME_AIM:
                taken.append(self.outbox.popleft())
                size += len(taken[-1])
            self.socket.sendall(self.frame(taken))

    def frame(self, encoded: list) -> bytes:
        body = '{"nonce":"%s","messages":[%s]}' % (self.nonce, ",".join(encoded))
        data = body.encode()
        return LENGTH.pack(len(data)) + data


def encode(message: dict, raw_of: str = "") -> str:
    """JSON text that any strict reader takes: no NaN, no lone surrogates, no NUL. TypeError if it isn't JSON.

    Where cleaning changed the field ``raw_of``, the message also carries ``raw``: that field's JSON text as it was.
    """
    try:
        text = strict(message)
        if "\\u0000" not in text and "\\ud" not in text:
            return text
    except ValueError:
        pass
    safe = cleaned(message)
    if raw_of in message:
        raw = lenient(message[raw_of])
        if raw != strict(safe[raw_of]):
            safe["raw"] = raw
    return strict(safe)


def cleaned(value):
    """The same value with U+FFFD for what text can't hold, and null for numbers that JSON can't hold."""
    if isinstance(value, str):
        return value.replace("\0", "\ufffd").encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {cleaned(key) if isinstance(key, str) else key: cleaned(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [cleaned(each) for each in value]
    return value


def fault(error: BaseException, trace: bool = True) -> dict:
    """What the host is told about an exception. ``str(error)`` may itself raise: user code made it."""
    try:
        message = str(error)[:2000]
    except BaseException:
        message = "(its message could not be read)"
    found = {"class": type(error).__name__[:200], "message": message}
    if trace:
        import traceback

        line = line_of(error)
        if line:
            found["line"] = line
        try:
            lines = traceback.format_exception(type(error), error, error.__traceback__, limit=-12)
            found["trace"] = "".join(line for line in lines if "/bw/lib/bw_" not in line)[-6000:]
        except BaseException:
            found["trace"] = ""
    return found


def line_of(error: BaseException) -> int:
    """The line of task_impl.py where it happened; 0 where none of the user's code was running."""
    line, at = 0, error.__traceback__
    while at is not None:
        if at.tb_frame.f_globals.get("__name__") == "task_impl":
            line = at.tb_lineno
        at = at.tb_next
    return line
