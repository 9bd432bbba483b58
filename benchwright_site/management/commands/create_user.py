"""`manage.py create_user EMAIL`: an account, made at the server's own shell."""

import getpass
import secrets
import sys
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from accounts.users import create_user
from benchwright_site.serve.borrowed import begin, database
from kernel.errors import DomainError


class Command(BaseCommand):
    help = "Make an account. Asks for a password on a terminal; elsewhere makes one up and prints it."
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("email")
        parser.add_argument("--staff", action="store_true", help="may use the admin")
        parser.add_argument("--password-stdin", action="store_true", help="read the password from standard input")

    def handle(self, *args: Any, **options: Any) -> None:
        begin()
        password, made_up = self._password(options["password_stdin"])
        try:
            with database():
                user = create_user(options["email"], password, staff=options["staff"])
        except (DomainError, RuntimeError) as trouble:
            raise CommandError(getattr(trouble, "detail", str(trouble))) from None
        self.stdout.write(f"account: {user.email}")
        if made_up:
            self.stdout.write(f"password: {password}")

    def _password(self, from_stdin: bool) -> tuple[str, bool]:
        if from_stdin:
            return sys.stdin.readline().rstrip("\r\n"), False
        if not sys.stdin.isatty():
            return secrets.token_urlsafe(12), True
        first = getpass.getpass("Password: ")
        if first != getpass.getpass("Once more: "):
            raise CommandError("The two passwords differ.")
        return first, False
