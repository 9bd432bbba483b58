"""`manage.py local_model --port N`: the small local model as a process of its own."""

import signal
import threading
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from runs.local_model.server import MODEL, NoLocalModel, start


class Command(BaseCommand):
    help = "Serve the small local model (provider `local`) on loopback."
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--port", type=int, required=True)
        parser.add_argument("--threads", type=int, help="processor threads (default: one fewer than cores, at most 4)")

    def handle(self, *args: Any, **options: Any) -> None:
        stop = threading.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda _number, _frame: stop.set())
        try:
            server = start(options["port"], options["threads"])
        except NoLocalModel as trouble:
            raise CommandError(str(trouble)) from None
        self.stdout.write(f"{MODEL} at {server.listening_address}")
        self.stdout.flush()
        stop.wait()
        del server
