"""`manage.py snapshots`: lists the rows that were fetched and kept; `--forget ID` has the next run fetch them anew."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from kernel import strict_json
from runs.models import Snapshot
from runs.sources import snapshots


class Command(BaseCommand):
    help = "Lists fetched rows. --forget lets the next run that asks for a place fetch it anew."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--forget", metavar="ID", help="a snapshot's id, as this list shows it")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["forget"]:
            if not snapshots.forget(options["forget"]):
                raise CommandError(f"There is no snapshot {options['forget']}.")
            self.stdout.write("Forgotten. Subsets that were made of it keep their rows.")
            return
        for kept in Snapshot.objects.order_by("created_at"):
            place = strict_json.dumps(kept.locator).decode()
            self.stdout.write(f"{kept.pk}  {kept.rows} rows  {kept.created_at:%Y-%m-%d}  {kept.revision[:12]}  {place}")
