"""What one run may reach and send, as the database has it now. Plain reads, for a thread."""

from dataclasses import dataclass
from uuid import UUID

from runs.models import Run
from secrets_vault import leases
from secrets_vault.host_policy import Policy, builtin, policy_of
from secrets_vault.host_policy.deciding import ALLOW
from secrets_vault.leases import Held
from secrets_vault.models import SecretVersion

LIVE = ("queued", "running", "needs_input")


@dataclass(frozen=True)
class Grants:
    """``declared``: the hosts that the run's scorer names; ``held``: the secrets that it leases."""

    account: int
    declared: frozenset[str]
    held: tuple[Held, ...]
    policy: Policy

    def opens_nothing(self, phase: str) -> bool:
        """Whether no request of ``phase`` could go anywhere, whatever it is."""
        built_in = self.policy.default == ALLOW and phase in builtin.PHASES
        return not (self.policy.allow or self.declared or self.held or built_in)


def load(run: UUID | str) -> Grants | None:
    """None where the run has ended or does not exist."""
    found = Run.objects.filter(id=run, status__in=LIVE, destroyed_at=None).select_related("impl").first()
    if found is None:
        return None
    declared = frozenset(found.impl.network if found.impl else ())
    return Grants(found.owner_id, declared, tuple(leases.held(str(found.id))), policy_of(found.owner_id))


def sealed(secret: str, version: int) -> bytes | None:
    """The sealed bytes of one version; None where they were wiped."""
    kept = SecretVersion.objects.filter(secret_id=secret, version=version).values_list("sealed", flat=True).first()
    return bytes(kept) if kept is not None else None
