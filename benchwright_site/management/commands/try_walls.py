"""`manage.py try_walls`: try the sandbox's walls as whoever runs this, and leave a note where they held."""

import asyncio
from typing import Any

from django.core.management.base import BaseCommand

from runs.compute.base import ComputeFault, ScorerFault
from runs.compute.table import COMPUTE


class Command(BaseCommand):
    help = "Try the sandbox's walls; print what is to be said of them, nothing where they hold."
    requires_system_checks = []

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            test = asyncio.run(COMPUTE["local"]().self_test())
        except (ComputeFault, ScorerFault, OSError) as fault:
            self.stdout.write(f"no sandbox on this machine: {fault}")
            return
        if not test.ok:
            told = "; ".join(test.failures())[:600]
            self.stdout.write(f"the sandbox does not hold here, scorers are refused: {told}")
            self.stdout.write("`manage.py doctor` says how to mend it")
        elif not test.sandboxed:
            self.stdout.write("BENCHWRIGHT_UNSAFE_LOCAL: scorers run without walls, and every run is marked so")
