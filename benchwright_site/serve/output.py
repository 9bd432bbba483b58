"""What the supervisor prints: each part's lines behind its name, in colour on a terminal."""

import os
import sys
from collections import deque

from kernel.secret_signs import redact_line

COLOURS = {
    "serve": 1,
    "postgres": 34,
    "web": 32,
    "worker": 36,
    "sweeper": 33,
    "gateway": 35,
    "egress": 96,
    "model": 95,
    "prepare": 90,
}
WIDTH = 9


class Output:
    """Prints ``name | line``; remembers each part's last lines for the message when it can't be started."""

    def __init__(self) -> None:
        self.colour = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
        self.last: dict[str, deque[str]] = {}

    def line(self, name: str, text: str) -> None:
        text = redact_line(text)
        self.last.setdefault(name, deque(maxlen=12)).append(text)
        label = f"{name:<{WIDTH}}"
        if self.colour:
            label = f"\033[{COLOURS.get(name.rstrip('0123456789'), 0)}m{label}\033[0m"
        self.plain(f"{label} | {text}")

    def say(self, text: str) -> None:
        """The supervisor's own word."""
        self.line("serve", text)

    def plain(self, text: str) -> None:
        try:
            sys.stdout.write(text + "\n")
            sys.stdout.flush()
        except OSError:  # the reader of our output is gone: go on serving
            pass
