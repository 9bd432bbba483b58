"""What each part is started as: its user, and the environment that only it is given."""

import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit

from django.conf import settings

from benchwright_site.serve.walls import cells, people, roles
from benchwright_site.serve.walls.people import ITSELF, People

ROLE_URLS = {roles.APP: "BENCHWRIGHT_APP_DATABASE_URL", roles.GATEWAY: "BENCHWRIGHT_GATEWAY_DATABASE_URL"}


@dataclass(frozen=True)
class Place:
    """``user``: the leash's word for who a part becomes."""

    user: str = ITSELF
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Cast:
    """The places of all parts; ``passwords`` of the embedded database's roles, made anew at each start."""

    people: People | None
    words: str
    passwords: Mapping[str, str]

    def gateway(self) -> Place:
        told = self._database(roles.GATEWAY)
        if self.people is None:
            return Place(ITSELF, told)
        peer = {"BENCHWRIGHT_GATEWAY_PEER": str(self.people.house)}
        return Place(self.people.keeper(), told | peer | _home(str(settings.GATEWAY_JOURNAL_DIR)))

    def resident(self) -> Place:
        """Web, sweeper, the local model."""
        told = self._database(roles.APP)
        return Place(ITSELF, told) if self.people is None else Place(self.people.resident(), told | _house())

    def worker(self) -> Place:
        told = self._database(roles.APP)
        if self.people is None:
            return Place(ITSELF, told)
        made = cells.make(self.people.house)
        return Place(self.people.worker(cells.homes(made)), told | _house() | cells.environment(made))

    def _database(self, role: str) -> dict[str, str]:
        if settings.EMBEDDED_DATABASE:
            url = f"postgresql://postgres:@/postgres?host={settings.DATABASE_SOCKETS}"
            return {"DATABASE_URL": roles.url_for(url, role, self.passwords[role])}
        given = os.environ.get(ROLE_URLS[role], "")
        return {"DATABASE_URL": given} if given else {}


def given_passwords(environment: Mapping[str, str]) -> dict[str, str]:
    """The passwords that the two URLs hold, by role. ValueError where one lacks, or enters as somebody else."""
    found = {}
    for role, name in ROLE_URLS.items():
        parts = urlsplit(environment.get(name, ""))
        if parts.username != role or not parts.password:
            raise ValueError(f"{name} must say postgresql://{role}:PASSWORD@HOST/NAME")
        found[role] = unquote(parts.password)
    return found


def gathered() -> Cast:
    found, words = people.find()
    passwords = {role: secrets.token_urlsafe(24) for role in (roles.APP, roles.GATEWAY)}
    return Cast(found, words, passwords)


def _house() -> dict[str, str]:
    return _home(str(settings.DATA_DIR / "cache"))


def _home(folder: str) -> dict[str, str]:
    """A user without an entry among the system's has no home and no name unless it is told."""
    return {"HOME": folder, "USER": "benchwright", "LOGNAME": "benchwright"}
