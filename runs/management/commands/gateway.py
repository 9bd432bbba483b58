"""`manage.py gateway`: the process between scorers and model providers. One per installation and machine."""

import asyncio
import logging
import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from runs.gateway import process
from runs.gateway.journal import JournalBusy

if sys.platform != "win32":
    import uvloop


class Command(BaseCommand):
    help = "Runs the model gateway until it is told to stop."
    requires_system_checks: list[str] = []

    def handle(self, *args: Any, **options: Any) -> None:
        logging.basicConfig(level=logging.INFO, format="%(levelname)s %(name)s: %(message)s")
        try:
            with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
                runner.run(process.run(self._say))
        except JournalBusy as bad:
            raise CommandError(str(bad)) from None

    def _say(self, line: str) -> None:
        self.stdout.write(line)
        self.stdout.flush()
