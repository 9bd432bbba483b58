"""Provider secrets, sealed; what runs may do with them; connections; and the hosts that runs may reach."""

from django.conf import settings
from django.db import models


class Secret(models.Model):
    id = models.CharField(primary_key=True, max_length=40)  # sec_<ulid>
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="secrets")
    name = models.CharField(max_length=120)
    description = models.CharField(max_length=500, blank=True)
    preview = models.CharField(max_length=16)  # "••••f3Qa": masked, for people
    version = models.IntegerField(default=1)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)
    deleted_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["owner", "name"], condition=models.Q(deleted_at=None), name="secret_name_once"
            )
        ]

    def __str__(self) -> str:
        return self.name


class SecretVersion(models.Model):
    secret = models.ForeignKey(Secret, on_delete=models.CASCADE, related_name="versions")
    version = models.IntegerField()
    sealed = models.BinaryField()
    key_id = models.CharField(max_length=40)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["secret", "version"], name="secret_version_once")]

    def __str__(self) -> str:
        return f"{self.secret_id} v{self.version}"


class SecretRule(models.Model):
    """Where a secret is attached: to requests for a host, in one of four ways."""

    secret = models.ForeignKey(Secret, on_delete=models.CASCADE, related_name="rules")
    host_pattern = models.CharField(max_length=255)
    inject_kind = models.CharField(max_length=10)  # bearer, header, basic, query
    inject_target = models.CharField(max_length=120, blank=True)

    def __str__(self) -> str:
        return f"{self.host_pattern} {self.inject_kind}"


class SecretLease(models.Model):
    """One secret that a run may use: the version and the rules as they were at its launch."""

    reference = models.CharField(max_length=60)  # the run
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    secret = models.ForeignKey(Secret, on_delete=models.CASCADE, related_name="leases")
    version = models.IntegerField()
    rules = models.JSONField(default=list)  # [{host_pattern, inject_kind, inject_target}]
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["reference", "secret"], name="secret_lease_once")]

    def __str__(self) -> str:
        return f"{self.secret_id} v{self.version} for {self.reference}"


class SecretUse(models.Model):
    """How often one version of a secret was attached to requests of a run for one host and path (no query)."""

    # Written a second later by the proxies: an account that is deleted meanwhile must not have to wait for them.
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+", db_constraint=False)
    secret = models.ForeignKey(Secret, models.CASCADE, related_name="uses", db_constraint=False)
    version = models.IntegerField()
    reference = models.CharField(max_length=60)  # the run
    via = models.CharField(max_length=10)  # gateway, egress
    host = models.CharField(max_length=255)
    path = models.CharField(max_length=300)
    uses = models.BigIntegerField(default=0)
    first_at = models.DateTimeField()
    last_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["secret", "version", "reference", "via", "host", "path"], name="secret_use_once"
            )
        ]

    def __str__(self) -> str:
        return f"{self.secret_id} v{self.version} at {self.host}"


class Connection(models.Model):
    """A model endpoint or a compute backend that an account has set up under a name."""

    id = models.CharField(primary_key=True, max_length=40)  # con_<ulid>
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="connections")
    name = models.CharField(max_length=120)
    kind = models.CharField(max_length=10)  # ai_model, compute
    provider = models.CharField(max_length=40)
    base_url = models.CharField(max_length=500, blank=True)  # empty: the provider's own
    secret = models.ForeignKey(Secret, on_delete=models.SET_NULL, null=True, blank=True, related_name="connections")
    prices = models.JSONField(default=dict, blank=True)  # micro-cents per million tokens
    routing = models.JSONField(default=dict, blank=True)  # what a router is pinned to: upstream, quantization
    metadata = models.JSONField(default=dict, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)
    deleted_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["owner", "name"], condition=models.Q(deleted_at=None), name="connection_name_once"
            )
        ]

    def __str__(self) -> str:
        return self.name


class HostEntry(models.Model):
    """One line of an account's host policy."""

    id = models.CharField(primary_key=True, max_length=40)  # hp_<ulid>
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="host_entries")
    host_pattern = models.CharField(max_length=255)
    mode = models.CharField(max_length=5)  # allow, block
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name_plural = "host entries"
        constraints = [
            models.UniqueConstraint(fields=["owner", "host_pattern", "mode"], name="host_entry_once"),
        ]

    def __str__(self) -> str:
        return f"{self.mode} {self.host_pattern}"


class HostDefault(models.Model):
    """What happens to hosts that no entry names; an account without a row allows the common set."""

    owner = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, primary_key=True, related_name="host_default"
    )
    mode = models.CharField(max_length=5)  # allow, block
    updated_at = models.DateTimeField(auto_now=True)

    def __str__(self) -> str:
        return self.mode


class BlockedHost(models.Model):
    """A host that a run tried to reach and did not."""

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="blocked_hosts")
    reference = models.CharField(max_length=60)  # the run
    host = models.CharField(max_length=255)
    reason = models.CharField(max_length=40)  # a problem code: host_blocked, destination_forbidden
    attempts = models.BigIntegerField(default=0)
    first_at = models.DateTimeField()
    last_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["reference", "host"], name="blocked_host_once")]

    def __str__(self) -> str:
        return f"{self.host} ({self.attempts})"
