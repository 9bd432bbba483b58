"""`manage.py remove_second_step EMAIL`: the way back for somebody who lost phone and recovery codes."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from accounts.users import without_second_step
from benchwright_site.serve.borrowed import begin, database
from kernel.errors import DomainError


class Command(BaseCommand):
    help = (
        "Take the second step of signing in off an account. It is noted in the admin's record, and the account is told."
    )
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("email")

    def handle(self, *args: Any, **options: Any) -> None:
        begin()
        try:
            with database():
                user = without_second_step(options["email"])
        except (DomainError, RuntimeError) as trouble:
            raise CommandError(getattr(trouble, "detail", str(trouble))) from None
        self.stdout.write(f"{user.email} signs in with the password alone now.")
