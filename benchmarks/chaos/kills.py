"""Who dies when: a seeded sequence of kills, freezes and wipes on a living installation."""

import contextlib
import os
import random
import shutil
import signal
import threading
import time
from collections import Counter
from dataclasses import dataclass, field

from tests.operations.serving import Server

WAIT = (5.0, 40.0)  # seconds between two
PARTS = {"worker": ("worker1", "worker2"), "web": ("web",), "gateway": ("gateway",), "postgres": ("postgres",),
         "sweeper": ("sweeper",)}  # fmt: skip
WEIGHTS = {"worker": 4, "web": 3, "gateway": 4, "postgres": 3, "sweeper": 1, "broker wiped": 2, "worker frozen": 2}


@dataclass
class Killer:
    """Call ``run`` in a thread; ``enough`` ends it."""

    server: Server
    seed: int
    frozen_seconds: float  # longer than a lease
    enough: threading.Event = field(default_factory=threading.Event)
    done: Counter[str] = field(default_factory=Counter)
    log: list[str] = field(default_factory=list)

    def run(self) -> None:
        draw, began = random.Random(self.seed), time.monotonic()
        while not self.enough.wait(draw.uniform(*WAIT)):
            (what,) = draw.choices(list(WEIGHTS), list(WEIGHTS.values()))
            which = draw.choice(PARTS.get(what, PARTS["worker"]))
            if self._strike(what, which):
                self.done[what] += 1
                self.log.append(f"{time.monotonic() - began:7.1f} s {what} {which if what in PARTS else ''}".rstrip())
                print(self.log[-1], flush=True)

    def _strike(self, what: str, which: str) -> bool:
        """False where there was nothing to strike just then."""
        if what == "broker wiped":
            shutil.rmtree(self.server.data / "broker", ignore_errors=True)
            return True
        process = self.server.part(which)
        if process is None:
            return False
        with contextlib.suppress(ProcessLookupError):
            if what != "worker frozen":
                os.kill(process[0], signal.SIGKILL)
                return True
            os.kill(process[0], signal.SIGSTOP)
            self.enough.wait(self.frozen_seconds)
            os.kill(process[0], signal.SIGCONT)
            return True
        return False
