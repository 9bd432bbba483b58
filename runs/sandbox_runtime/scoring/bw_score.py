"""The score role: output and expected in, a verdict out. What judges runs in children of this process.

A child per batch with the audit hook armed; a child per row, with an empty /tmp and every stray process killed
after it, where the hook was hit, where a benchmark asks for it, or where loaders by name are present. The
children answer on a pipe of their own, one frame per row, with a nonce; this process alone talks to the host.
"""

import gc
import os
import signal
import time
from collections import deque

import bw_channel
import bw_child
import bw_clean
import bw_guard
import bw_user
import bw_verdict

ASKED = frozenset(("score", "question", "judged"))  # what the host may want of a row
HITS = 3  # rows caught by the audit hook before the role stops trying batches
# A fork costs as much as judging a hundred rows, so a small batch waits for rows that are about to come.
ENOUGH = 100  # rows
LULL_MS = 4  # without a new row: nothing is about to come
GATHER_SECONDS = 0.02  # at most
MANY = 4000  # rows taken from the host before they are judged
LOOK_SECONDS = 0.02  # between looks at a row that is judged in this process


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
        self.rows: deque = deque()

    def serve(self) -> None:
        while True:
            self.receive()
            while self.rows:
                self.take(self.rows)
            self.channel.flush()

    def receive(self) -> None:
        self.rows.extend(message for message in self.channel.receive() if message["op"] in ASKED)

    def take(self, rows: deque) -> None:
        """Judge at least the first row and take what was judged away."""
        raise NotImplementedError

    def tell(self, row: dict, found: dict) -> None:
        """Goes out with the next flush."""
        answer = {"cell": row["cell"], "attempt": row["attempt"]}
        op = "unscored" if "error" in found else "asking" if "question" in found else "scored"
        self.channel.outbox.append(bw_channel.encode({"op": op, **answer, **found}))

    def unscored(self, row: dict, kind: str, message: str) -> None:
        self.tell(row, {"error": {"class": kind, "message": message}})

    def late(self, row: dict) -> None:
        self.unscored(row, "scorer_timeout", f"score took longer than {self.seconds:g} s")


class TimeUp(BaseException):
    """A row judged in this process took too long (a pattern that backtracks without end, say)."""


class InProcess(Judging):
    """Judging in this process: for graders that we compiled and that run nothing the model wrote.

    One timer ticks while there is work: it sends what was found, and interrupts a row whose time is up.
    """

    def serve(self) -> None:
        self.deadline = 0.0  # of the row that is being judged; 0 = none is
        self.looking = False
        signal.signal(signal.SIGALRM, self.look)
        while True:
            self.receive()
            signal.setitimer(signal.ITIMER_REAL, LOOK_SECONDS, LOOK_SECONDS)
            while self.rows:
                self.take(self.rows)
            signal.setitimer(signal.ITIMER_REAL, 0)
            self.channel.flush()

    def look(self, *ignored) -> None:
        if not self.deadline or self.looking:  # on a busy machine the next tick may come within this one
            return
        self.looking = True
        try:
            self.channel.flush()
        finally:
            self.looking = False
        if time.monotonic() > self.deadline:
            self.deadline = 0.0
            raise TimeUp

    def take(self, rows: deque) -> None:
        row = rows.popleft()
        try:
            self.deadline = time.monotonic() + self.seconds
            found = bw_verdict.judge(self.task, row, passing=TimeUp)
            self.deadline = 0.0
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
        gc.disable()  # rows and verdicts hold no cycles, and a collection would touch pages shared with the child

    def take(self, rows: deque) -> None:
        if self.hits >= HITS or bw_guard.loads_by_name():
            self.alone(rows.popleft())
            self.channel.flush()
        else:
            self.gather()
            self.batch(rows)

    def gather(self) -> None:
        """Take what lies ready, and while that is little, what comes within moments."""
        deadline = time.monotonic() + GATHER_SECONDS
        while len(self.rows) < MANY:
            patient = len(self.rows) < ENOUGH and time.monotonic() < deadline
            if not self.channel.ready(LULL_MS if patient else 0):
                return
            self.receive()

    def batch(self, rows: deque) -> None:
        """Judge from the left until a row stops the child; that row goes on alone."""
        child = bw_child.Child(self, list(rows), with_hook=True)
        while rows:
            found = child.answers(self.seconds)
            if not found:
                break
            for each in found:
                self.tell(rows.popleft(), each)
            self.channel.flush()
        status = child.end()
        if not rows:
            return
        if child.late:
            self.late(rows.popleft())
        else:
            self.hits += os.WIFEXITED(status) and os.WEXITSTATUS(status) == bw_guard.CAUGHT
            self.alone(rows.popleft())
        self.channel.flush()

    def alone(self, row: dict) -> None:
        child = bw_child.Child(self, [row], with_hook=False)
        found = child.answers(self.seconds)
        status = child.end()
        self.clean.after(child.pid)
        if found:
            self.tell(row, found[0])
        elif child.late:
            self.late(row)
        else:
            self.unscored(row, "scorer_exception", f"the scoring process ended without a verdict ({how(status)})")


def how(status: int) -> str:
    if os.WIFSIGNALED(status):
        return f"signal {os.WTERMSIG(status)}"
    return f"exit status {os.WEXITSTATUS(status)}"
