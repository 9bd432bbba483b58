"""The timer of a role that judges in its own process: it tells what was found while a row is judged, and harms none."""

import json
import socket
import struct
import subprocess
import sys
from pathlib import Path

RUNTIME = Path(__file__).parents[2] / "runs" / "sandbox_runtime"
ROLE = """
import signal, sys, time
from collections import deque
sys.path[:0] = sys.argv[2:]
import bw_channel, bw_score

class Task:
    def score(self, index, output, expected):
        time.sleep(0.01)
        return 1.0

class Ticking(deque):
    "A machine so busy that the next tick comes between a look at what is to be sent and its taking."
    looks, within = 0, False

    def __bool__(self):
        some = len(self) > 0
        if some and not Ticking.within:
            Ticking.looks += 1
            if Ticking.looks % 2 == 0:  # the first look opens a frame, the second is for its first message
                Ticking.within = True
                signal.raise_signal(signal.SIGALRM)
                Ticking.within = False
        return some

channel = bw_channel.Channel(int(sys.argv[1]))
channel.outbox = Ticking()
bw_score.InProcess(channel, Task(), 30).serve()
"""
ROWS = 20


def test_i13_a_tick_within_a_tick_costs_no_row_its_verdict() -> None:
    ours, theirs = socket.socketpair()
    folders = [str(RUNTIME), *(str(RUNTIME / name) for name in ("scoring", "solving", "trying"))]
    role = subprocess.Popen([sys.executable, "-c", ROLE, str(theirs.fileno()), *folders], pass_fds=[theirs.fileno()])
    theirs.close()
    try:
        row = {"op": "score", "attempt": 1, "index": 0, "output": "a", "expected": "a"}
        body = json.dumps({"nonce": "", "messages": [{**row, "cell": number} for number in range(ROWS)]}).encode()
        ours.sendall(struct.pack(">I", len(body)) + body)
        told: list[dict[str, object]] = []
        while len(told) < ROWS:
            told += json.loads(_exactly(ours, struct.unpack(">I", _exactly(ours, 4))[0]))["messages"]
    finally:
        role.kill()
        role.wait(10)
        ours.close()
    assert [(each["op"], each["cell"]) for each in told] == [("scored", number) for number in range(ROWS)]


def _exactly(line: socket.socket, size: int) -> bytes:
    line.settimeout(30)
    data = line.recv(size, socket.MSG_WAITALL)
    assert len(data) == size, "the role is gone"
    return data
