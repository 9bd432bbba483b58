"""Model fields of ours."""

from typing import Any

from django.db import models


class LeanKey(models.CharField):  # type: ignore[type-arg]  # only its stubs are generic
    """A text key without the second index that Django adds for LIKE: for tables that are written by the thousand.

    Django decides that by the type's name, so this one goes by its longer name.
    """

    def db_type(self, connection: Any) -> str:
        return f"character varying({self.max_length})"
