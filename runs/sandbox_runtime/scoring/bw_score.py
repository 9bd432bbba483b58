"""The score role: output and expected in, a verdict out. What judges runs in children of this process.

A child per batch with the audit hook armed; a child per row, with an empty /tmp and every stray process killed
after it, where the hook was hit, where a benchmark asks for it, or where loaders by name are present. The
children answer on a pipe of their own, one frame per row, with a nonce; this process alone talks to the host.
"""

import gc
import json
import os
import select
import signal
import time
from collections import deque

import bw_channel
import bw_clean
import bw_guard
import bw_user
import bw_verdict

HITS = 3  # rows caught by the audit hook before the role stops trying batches
ANSWER_CAP = 1 << 20


def run(channel: bw_channel.Channel, start: dict) -> None:
    task = bw_user.load_or_tell(channel, start["code"], lambda task: {})
    if task is None:
        return
    if start["trusted"]:
        InProcess(channel, task, start["score_seconds"]).serve()
    if start["sandboxed"]:
        bw_guard.close_to_others()
    Children(channel, task, start).serve()


class Judging:
    """Takes rows from the host and tells it what was found."""

    def __init__(self, channel: bw_channel.Channel, task, seconds: float) -> None:
        self.channel = channel
        self.task = task
        self.seconds = seconds

    def serve(self) -> None:
        while True:
            rows = deque(message for message in self.channel.receive() if message["op"] == "score")
            while rows:
                self.take(rows)

    def take(self, rows: deque) -> None:
        """Judge at least the first row and take what was judged away."""
        raise NotImplementedError

    def tell(self, row: dict, found: dict) -> None:
        answer = {"cell": row["cell"], "attempt": row["attempt"]}
        op = "unscored" if "error" in found else "scored"
        self.channel.post({"op": op, **answer, **found})

    def unscored(self, row: dict, kind: str, message: str) -> None:
        self.tell(row, {"error": {"class": kind, "message": message}})

    def late(self, row: dict) -> None:
        self.unscored(row, "scorer_timeout", f"score took longer than {self.seconds:g} s")


class TimeUp(BaseException):
    """A row judged in this process took too long (a pattern that backtracks without end, say)."""


class InProcess(Judging):
    """Judging in this process: for graders that we compiled and that run nothing the model wrote."""

    def serve(self) -> None:
        signal.signal(signal.SIGALRM, self.time_up)
        super().serve()

    def time_up(self, *ignored) -> None:
        raise TimeUp

    def take(self, rows: deque) -> None:
        row = rows.popleft()
        try:
            signal.setitimer(signal.ITIMER_REAL, self.seconds)
            try:
                found = bw_verdict.judge(self.task, row, passing=TimeUp)
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
        except TimeUp:
            self.late(row)
        else:
            self.tell(row, found)


class Children(Judging):
    """Judging in children."""

    def __init__(self, channel: bw_channel.Channel, task, start: dict) -> None:
        super().__init__(channel, task, start["score_seconds"])
        self.clean = bw_clean.Cleaner(start["sandboxed"], start["scratch"])
        self.hits = HITS if start["isolation"] == "task" else 0
        self.walled = start["sandboxed"]
        self.us = os.getpid()
        gc.collect()
        gc.freeze()

    def take(self, rows: deque) -> None:
        if self.hits >= HITS or bw_guard.loads_by_name():
            self.alone(rows.popleft())
        else:
            self.batch(rows)

    def batch(self, rows: deque) -> None:
        """Judge from the left until a row stops the child; that row goes on alone."""
        child = Child(self, list(rows), guarded=False)
        while rows:
            found = child.answer(self.seconds)
            if found is None:
                break
            self.tell(rows.popleft(), found)
        status = child.end()
        if not rows:
            return
        if child.late:
            self.late(rows.popleft())
            return
        self.hits += os.WIFEXITED(status) and os.WEXITSTATUS(status) == bw_guard.CAUGHT
        self.alone(rows.popleft())

    def alone(self, row: dict) -> None:
        child = Child(self, [row], guarded=True)
        found = child.answer(self.seconds)
        status = child.end()
        self.clean.after(child.pid)
        if found is not None:
            self.tell(row, found)
        elif child.late:
            self.late(row)
        else:
            self.unscored(row, "scorer_exception", f"the scoring process ended without a verdict ({how(status)})")


def how(status: int) -> str:
    if os.WIFSIGNALED(status):
        return f"signal {os.WTERMSIG(status)}"
    return f"exit status {os.WEXITSTATUS(status)}"


class Child:
    """One forked judge and the pipe on which it answers."""

    def __init__(self, parent: Children, rows: list, guarded: bool) -> None:
        self.nonce = os.urandom(16).hex()
        self.buffer = bytearray()
        self.expected = 0
        self.late = False
        self.pipe, theirs = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                self.judge(parent, rows, theirs, guarded)
            finally:
                os._exit(1)
        os.close(theirs)
        self.poll = select.poll()
        self.poll.register(self.pipe, select.POLLIN)

    # --- In the child -----------------------------------------------------------------------------------------

    def judge(self, parent: Children, rows: list, pipe: int, guarded: bool) -> None:
        os.setsid()
        parent.channel.socket.close()  # the host is out of reach from here
        parent.channel.nonce = ""
        os.close(self.pipe)
        nonce, self.nonce = self.nonce, ""
        task, leave, write, dumps, judge = parent.task, os._exit, os.write, json.dumps, bw_verdict.judge
        options = {}
        if guarded and parent.walled:
            bw_guard.forbid_signals_to(parent.us, os.getpid())
        elif not guarded:
            options["watch"] = bw_guard.arm()
            options["watch"](True)
        for at, row in enumerate(rows):
            found = judge(task, row, **options)
            data = dumps({"nonce": nonce, "row": at, **found}).encode()
            data = bw_channel.LENGTH.pack(len(data)) + data
            while data:
                data = data[write(pipe, data) :]
        leave(0)

    # --- In the parent ----------------------------------------------------------------------------------------

    def answer(self, seconds: float):
        """The next row's verdict; None when the child ended, spoke wrongly or was late."""
        deadline = time.monotonic() + seconds
        while True:
            if len(self.buffer) >= 4:
                size = bw_channel.LENGTH.unpack_from(self.buffer)[0]
                if size > ANSWER_CAP:
                    return None
                if len(self.buffer) >= 4 + size:
                    data = bytes(self.buffer[4 : 4 + size])
                    del self.buffer[: 4 + size]
                    return self.read(data)
            left = deadline - time.monotonic()
            if left <= 0 or not self.poll.poll(left * 1000):
                self.late = True
                return None
            data = os.read(self.pipe, 1 << 16)
            if not data:
                return None
            self.buffer += data

    def read(self, data: bytes):
        try:
            found = json.loads(data)
        except (ValueError, RecursionError):
            return None
        if type(found) is not dict or found.pop("nonce", None) != self.nonce or found.pop("row", None) != self.expected:
            return None
        self.expected += 1
        if type(found.get("error")) is dict:
            return {"error": found["error"]}
        value = {name: found.get(name) for name in ("score", "explanation", "metrics")}
        return bw_verdict.verdict(value)

    def end(self) -> int:
        """Its exit status; it is killed first if it still lives."""
        os.close(self.pipe)
        finished, status = os.waitpid(self.pid, os.WNOHANG)
        if not finished:
            os.kill(self.pid, signal.SIGKILL)
            _, status = os.waitpid(self.pid, 0)
        return status
