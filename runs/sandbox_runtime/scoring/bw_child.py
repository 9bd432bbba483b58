"""One forked judge and the pipe on which it answers, a frame per row."""

import gc
import json
import os
import select
import signal
import sys
import time

import bw_channel
import bw_guard
import bw_log
import bw_verdict

ANSWER_CAP = 8 << 20  # a verdict of some 100 KB, and what score() printed
PAUSE_MS = 3  # verdicts of a batch are read this often: waking for each would cost more than judging it


class Child:
    """``with_hook``: the audit hook is armed; else the child may do all that its walls let it, for one row."""

    def __init__(self, parent, rows: list, with_hook: bool) -> None:
        self.nonce = os.urandom(16).hex()
        self.buffer = bytearray()
        self.count = len(rows)
        self.expected = 0
        self.late = self.wrong = False
        self.pipe, theirs = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                self.judge(parent, rows, theirs, with_hook)
            finally:
                os._exit(1)
        os.close(theirs)
        self.something, self.ended = select.poll(), select.poll()
        self.something.register(self.pipe, select.POLLIN)
        self.ended.register(self.pipe, 0)

    # --- In the child -----------------------------------------------------------------------------------------

    def judge(self, parent, rows: list, pipe: int, with_hook: bool) -> None:
        os.setsid()
        parent.channel.socket.close()  # the host is out of reach from here
        parent.channel.nonce = ""
        parent.channel.outbox.clear()
        os.close(self.pipe)
        nonce, self.nonce = self.nonce, ""
        task, leave, write, dumps, judge = parent.task, os._exit, os.write, json.dumps, bw_verdict.judge
        gc.freeze()
        gc.enable()
        options = {}
        if with_hook:
            options["watch"] = bw_guard.arm()
            options["watch"](True)
        elif parent.walled:
            bw_guard.forbid_signals_to(parent.us, os.getpid())
        printed = [bw_log.Log()]
        sys.stdout = bw_log.TaskOutput(sys.stdout, lambda: printed[0])
        sys.stderr = bw_log.TaskOutput(sys.stderr, lambda: printed[0])
        for at, row in enumerate(rows):
            found = judge(task, row, **options)
            if printed[0]:
                found["log"] = str(printed[0])
                printed[0] = bw_log.Log()
            data = dumps({"nonce": nonce, "row": at, **found}).encode()
            data = bw_channel.LENGTH.pack(len(data)) + data
            while data:
                data = data[write(pipe, data) :]
        leave(0)

    # --- In the parent ----------------------------------------------------------------------------------------

    def answers(self, seconds: float) -> list:
        """The next verdicts, at least one; none when the child ended, spoke wrongly or was late with one."""
        deadline = time.monotonic() + seconds
        while not self.wrong:
            found = self.whole()
            if found:
                return found
            left = deadline - time.monotonic()
            if left <= 0 or not self.something.poll(left * 1000):
                self.late = True
                break
            if self.expected + 1 < self.count:
                self.ended.poll(PAUSE_MS)
            data = os.read(self.pipe, 1 << 16)
            if not data:
                break
            self.buffer += data
        return []

    def whole(self) -> list:
        """The verdicts that have come whole; sets ``wrong`` at the first thing that isn't one."""
        found: list = []
        at = 0
        while len(self.buffer) - at >= 4 and not self.wrong:
            size = bw_channel.LENGTH.unpack_from(self.buffer, at)[0]
            if size > ANSWER_CAP:
                self.wrong = True
            elif len(self.buffer) - at - 4 < size:
                break
            else:
                self.read(bytes(self.buffer[at + 4 : at + 4 + size]), found)
                at += 4 + size
        del self.buffer[:at]
        return found

    def read(self, data: bytes, found: list) -> None:
        try:
            said = json.loads(data)
        except (ValueError, RecursionError):
            said = None
        if type(said) is not dict or said.pop("nonce", None) != self.nonce or self.expected == self.count:
            self.wrong = True
            return
        if said.pop("row", None) != self.expected:
            self.wrong = True
            return
        self.expected += 1
        if type(said.get("error")) is dict:
            found.append({"error": said["error"]})
        elif "question" in said:
            found.append(bw_verdict.question(said["question"]))
        else:
            value = {name: said.get(name) for name in ("score", "explanation", "metrics")}
            found.append(bw_verdict.verdict(value))
        if type(said.get("log")) is str:
            found[-1]["log"] = said["log"]

    def end(self) -> int:
        """Its exit status; it is killed first if it still lives."""
        os.close(self.pipe)
        finished, status = os.waitpid(self.pid, os.WNOHANG)
        if not finished:
            os.kill(self.pid, signal.SIGKILL)
            _, status = os.waitpid(self.pid, 0)
        return status
