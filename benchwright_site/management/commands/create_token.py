"""`manage.py create_token EMAIL --scopes …`: a token, printed once. The server's shell stands in for the browser."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from accounts.models import User
from accounts.principal import BrowserSession
from accounts.scopes import SCOPES, STARTER
from accounts.tokens import mint
from benchwright_site.serve.borrowed import begin, database
from kernel.errors import DomainError


class Command(BaseCommand):
    help = "Make a token for an account and print it, once."
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("email")
        text = f"comma-separated, or all (default: a notebook's). Known: {', '.join(SCOPES)}"
        parser.add_argument("--scopes", default=",".join(STARTER), help=text)
        parser.add_argument("--name", default="shell", help="what to call it (default: shell)")

    def handle(self, *args: Any, **options: Any) -> None:
        begin()
        asked = list(SCOPES) if options["scopes"] == "all" else options["scopes"].replace(" ", ",").split(",")
        try:
            with database():
                user = User.objects.filter(email=options["email"].strip().lower()).first()
                if user is None:
                    raise CommandError(f"There is no account for {options['email']}. Make it with create_user.")
                _, plaintext = mint(BrowserSession(user), options["name"], [scope for scope in asked if scope])
        except (DomainError, RuntimeError) as trouble:
            raise CommandError(getattr(trouble, "detail", str(trouble))) from None
        self.stdout.write(plaintext)
