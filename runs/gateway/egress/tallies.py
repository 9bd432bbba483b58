"""Hosts that runs were kept from, counted in memory and written once a second."""

from django.db import close_old_connections

from runs.blocking import note_blocked
from runs.doorbell import Bell
from secrets_vault.host_policy.blocked import MOST_HOSTS, REST, WORDS, Blocked


class Tallies:
    """``count`` from the loop, ``write`` from one thread."""

    def __init__(self, bell: Bell) -> None:
        self.bell = bell
        self.counted: dict[str, dict[str, Blocked]] = {}  # by run and host

    def count(self, run: str, host: str, reason: str) -> None:
        """``reason``: a key of WORDS; of any other nothing is kept."""
        if reason not in WORDS:
            return
        hosts = self.counted.setdefault(run, {})
        if host not in hosts and len(hosts) >= MOST_HOSTS:
            host = REST
        before = hosts.get(host)
        hosts[host] = Blocked(host, reason, before.attempts + 1 if before else 1)

    def take(self) -> dict[str, dict[str, Blocked]]:
        counted, self.counted = self.counted, {}
        return counted

    def write(self, counted: dict[str, dict[str, Blocked]]) -> None:
        """Rows and, for hosts that are new to a run, events. DatabaseError."""
        close_old_connections()
        for run, hosts in counted.items():
            if note_blocked(run, list(hosts.values())):
                self.bell.ring(run)
