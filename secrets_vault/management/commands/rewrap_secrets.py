"""`manage.py rewrap_secrets`: change the vault's master key, in three steps that may each be repeated."""

from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from kernel.errors import DomainError
from secrets_vault import rewrap, sealing


class Command(BaseCommand):
    help = "Seal every stored secret for a new master key (docs/howto/master-key.md)."

    def add_arguments(self, parser: CommandParser) -> None:
        steps = parser.add_mutually_exclusive_group()
        steps.add_argument(
            "--new-key", action="store_true", help="first: make a key, and put it nowhere in service yet"
        )
        steps.add_argument("--drop-old", action="store_true", help="last: remove keys that nothing is sealed for")

    def handle(self, *args: Any, **options: Any) -> None:
        folder = Path(settings.KEYS_DIR)
        try:
            if options["new_key"]:
                self._new(folder)
            elif options["drop_old"]:
                dropped = rewrap.drop_old_keys(folder)
                self.stdout.write(f"removed {', '.join(dropped) or 'nothing: there is one key'}")
            else:
                self._rewrap(folder)
        except DomainError as refusal:
            raise CommandError(refusal.detail) from None

    def _new(self, folder: Path) -> None:
        made = sealing.make_next_key(folder)
        self.stdout.write(
            f"made {folder / sealing.NEXT_NAME} (key {made}). Copy it into the keys folder of every other gateway, "
            "then run `manage.py rewrap_secrets`."
        )

    def _rewrap(self, folder: Path) -> None:
        new = sealing.put_next_key_in_service(folder)
        if new is not None:
            public = folder / sealing.PUBLIC_NAME
            self.stdout.write(f"key {new} is in service here. Copy {public} to every other part.")
        done = rewrap.rewrap(folder)
        self.stdout.write(f"{done.sealed} values were sealed anew")
        if done.broken:
            raise CommandError(f"no key here opens {', '.join(done.broken)}: they are left as they were")
        left = rewrap.pending(sealing.current_key_id(folder)).count()
        self.stdout.write("nothing is sealed for an older key" if not left else f"{left} came meanwhile: run it again")
