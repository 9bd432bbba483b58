"""Ports for servers that start later than they are named."""

import random
import socket

OURS = range(20_000, 32_000)  # below those that systems hand out by themselves to whoever asks meanwhile


def free_port() -> int:
    """A port that nobody listens on, and that stays so until somebody is told of it."""
    while True:
        port = random.choice(OURS)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
