"""`manage.py serve`: the whole installation under one roof."""

import asyncio
import os
import shlex
import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from benchwright_site.serve.folders import FolderTrouble
from benchwright_site.serve.postgres import DatabaseTrouble
from benchwright_site.serve.supervisor import CantServe, Options, Supervisor


class Command(BaseCommand):
    help = "Run web, workers, sweeper, gateway and (without DATABASE_URL) PostgreSQL, until Ctrl-C."
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default 127.0.0.1)")
        parser.add_argument("--port", type=int, default=8000, help="port to listen on; 0 = any free one (default 8000)")
        parser.add_argument("--data", metavar="DIR", help=f"data folder (default {settings.DATA_DIR})")
        parser.add_argument("--workers", type=int, default=1, metavar="N", help="worker processes (default 1)")
        parser.add_argument("--threads", type=int, default=8, metavar="N", help="runs at once per worker (default 8)")
        parser.add_argument("--local-model", action="store_true", help="also serve the small local model")

        parser.add_argument("--egress", action="store_true", help="start the egress proxy at once, not on demand")

    def handle(self, *args: Any, **options: Any) -> None:
        _live_in(options["data"])
        if options["workers"] < 0:
            raise CommandError("--workers must be 0 or more")
        chosen = Options(
            options["host"],
            options["port"],
            options["workers"],
            options["threads"],
            options["local_model"],
            options["egress"],
        )
        try:
            asyncio.run(_serve(chosen))
        except (CantServe, DatabaseTrouble, FolderTrouble) as trouble:
            raise CommandError(str(trouble)) from None


async def _serve(options: Options) -> None:
    await Supervisor(options).serve()


def _live_in(folder: str | None) -> None:
    """Settings were read before the options: with another data folder, begin again."""
    if folder is None:
        return
    wanted = Path(folder).expanduser().resolve()
    if wanted != settings.DATA_DIR:
        told = "Other manage.py commands find this installation by it too"
        print(f"{told}:\n    export BENCHWRIGHT_DATA={shlex.quote(str(wanted))}", flush=True)
        os.environ["BENCHWRIGHT_DATA"] = str(wanted)
        os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])  # noqa: S606
