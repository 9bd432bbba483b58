#!/usr/bin/env python3
"""Django's command line for this installation: `manage.py help` lists what it can do."""

import os
import sys


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "benchwright_site.settings")
    from django.core.management import execute_from_command_line  # noqa: PLC0415 (settings first)

    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
