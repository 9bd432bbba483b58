"""Things that people call by their names, and the API by their ids."""

from typing import Any

import click


def named(resource: Any, what: str, prefix: str, name: str) -> Any:
    """One of ``resource`` (``client.secrets``) by id, which begins with ``prefix``, or by name.

    Raises click.UsageError that lists the names where there is none of this one.
    """
    if name.startswith(prefix):
        return resource.get(name)
    rows = list(resource.list())
    for row in rows:
        if row["name"] == name:
            return row
    known = ", ".join(row["name"] for row in rows) or "none"
    raise click.UsageError(f"No {what} named {name!r}. Known: {known}.")
