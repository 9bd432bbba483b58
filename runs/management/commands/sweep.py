"""`manage.py sweep`: the sweeper, alone."""

import logging
import signal
import threading

from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser
from django.db import OperationalError, close_old_connections, connection

from runs import sweeping

log = logging.getLogger(__name__)


class Command(BaseCommand):
    help = "Wake runs that are due, again and again. Any number of sweepers may run."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--once", action="store_true", help="sweep one time and end")

    def handle(self, *args: object, **options: object) -> None:
        if options["once"]:
            sweeping.sweep()
            return
        over = threading.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: over.set())
        ready = False
        while not over.wait(settings.SWEEP_SECONDS if ready else 0.05):
            try:
                close_old_connections()
                sweeping.sweep()
                if not ready:
                    ready = True
                    self.stdout.write("sweeper ready")
                    self.stdout.flush()
            except OperationalError as error:
                log.warning("the database is away: %s", error)
                connection.close()
