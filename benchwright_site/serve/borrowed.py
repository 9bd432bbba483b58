"""The database for one operator command: a running server's, or the embedded one started for a moment."""

import contextlib
import os
import sys
from collections.abc import Iterator

from django.conf import settings
from django.core.management import call_command
from django.db import connections

from benchwright_site.serve.folders import ensure_folders, ensure_secrets
from benchwright_site.serve.supervisor import embedded_cluster


def begin() -> None:
    """Call first in a command that derives anything from the installation's key (tokens do).

    Where the key is made only now, the settings were read without it: begin again with it.
    """
    if (settings.KEYS_DIR / "django").exists() or os.environ.get("BENCHWRIGHT_SECRET_KEY"):
        return
    ensure_folders()
    ensure_secrets()
    os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])  # noqa: S606


@contextlib.contextmanager
def database() -> Iterator[None]:
    """The installation's database answers inside the block. Raises DatabaseTrouble, FolderTrouble.

    With ``DATABASE_URL`` or a running server there is nothing to do. Else the embedded database is started, brought up
    to date, and stopped at the end.
    """
    if not settings.EMBEDDED_DATABASE or embedded_cluster().ready():
        yield
        return
    ensure_folders()
    with embedded_cluster().running():
        try:
            call_command("migrate", interactive=False, verbosity=0)
            call_command("createcachetable", verbosity=0)
            yield
        finally:
            connections.close_all()
