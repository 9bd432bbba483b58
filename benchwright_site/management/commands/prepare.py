"""`manage.py prepare`: what a new version needs before its parts start. Harmless to repeat."""

import os
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.db import connection

from benchwright_site.serve.folders import ensure_folders, ensure_secrets
from benchwright_site.serve.walls import cast, roles

LOCK = 0x42454E43  # one advisory lock for whoever prepares this database


class Command(BaseCommand):
    help = "Make folders and keys, migrate the database, give its roles their rights, collect static files."
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        names = " and ".join(cast.ROLE_URLS.values())
        told = f"make the database's roles, too, or give them the passwords that {names} hold now"
        parser.add_argument("--roles", action="store_true", help=told)

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            passwords = cast.given_passwords(os.environ) if options["roles"] else {}
        except ValueError as bad:
            raise CommandError(str(bad)) from None
        ensure_folders()
        ensure_secrets()
        with connection.cursor() as cursor:
            cursor.execute("select pg_advisory_lock(%s)", [LOCK])
            try:
                call_command("migrate", interactive=False, verbosity=0)
                call_command("createcachetable", verbosity=0)
                roles.make(passwords)
                roles.grant()
            finally:
                cursor.execute("select pg_advisory_unlock(%s)", [LOCK])
        if _static_is_stale():
            call_command("collectstatic", interactive=False, verbosity=0)


def _static_is_stale() -> bool:
    """Is any of our own static files newer than the collected ones?"""
    collected = Path(settings.STATIC_ROOT)
    if not (collected / "admin").is_dir():
        return True
    stamp = (collected / "admin").stat().st_mtime
    for folder in settings.STATICFILES_DIRS:
        for path in Path(folder).rglob("*"):
            copy = collected / path.relative_to(folder)
            if path.is_file() and (not copy.exists() or path.stat().st_mtime > max(copy.stat().st_mtime, stamp)):
                return True
    return False
