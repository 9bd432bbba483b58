"""`manage.py doctor`: is everything there that a run needs? Exit code 1 where something needed is not."""

import sys
from typing import Any

from django.core.management.base import BaseCommand

from benchwright_site.serve.diagnosis import findings


class Command(BaseCommand):
    help = "Test sandbox, database, broker, keys, gateway, disk and clock; say how to mend what is wrong."
    requires_system_checks = []

    def handle(self, *args: Any, **options: Any) -> None:
        wrong = 0
        for found in findings():
            mark = "ok" if found.ok else "WRONG" if found.needed else "note"
            wrong += not found.ok and found.needed
            self.stdout.write(f"{mark:<6} {found.name:<12} {found.detail}")
            if not found.ok and found.cure:
                self.stdout.write(f"       {'':<12} → {found.cure}")
        if wrong:
            sys.exit(1)
