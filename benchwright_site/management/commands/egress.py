"""`manage.py egress`: the process between sandboxes and hosts on the network. One per machine that has a gateway."""

import os
import socket
from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from benchwright_site.serve import egress


class Command(BaseCommand):
    help = "Runs the egress proxy until it is told to stop; makes its own environment first."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--fd", type=int, help="a listening socket that was inherited (default: make one)")
        parser.add_argument("--prepare", action="store_true", help="only make the environment")

    def handle(self, *args: Any, **options: Any) -> None:
        descriptor = options["fd"]
        try:
            egress.prepare(self._say)
            if options["prepare"]:
                return
            where = ["--fd", str(descriptor)] if descriptor is not None else ["--socket", settings.EGRESS_SOCKET]
            command = egress.command(where)
            if descriptor is not None:
                command = egress.as_keeper(command)
        except egress.EgressTrouble as trouble:
            if descriptor is not None:
                with socket.socket(fileno=descriptor) as listener:
                    egress.turn_away(listener, str(trouble))
            raise CommandError(str(trouble)) from None
        os.chdir(settings.BASE_DIR)
        os.execve(command[0], command, egress.environment(os.environ))  # noqa: S606 - our own program

    def _say(self, line: str) -> None:
        self.stdout.write(line)
        self.stdout.flush()
