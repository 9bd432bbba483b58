"""Provider secrets, sealed. Nothing outside the gateway can open one."""

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
