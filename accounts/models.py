"""Who is calling: users, their tokens and preferences, and the answers kept for repeated requests."""

from typing import Any, ClassVar

from django.contrib.auth.base_user import AbstractBaseUser, BaseUserManager
from django.contrib.auth.models import PermissionsMixin
from django.contrib.postgres.fields import ArrayField
from django.db import models

from kernel.fields import LeanKey


class UserManager(BaseUserManager["User"]):
    def create_user(self, email: str, password: str | None = None, **fields: Any) -> "User":
        user = self.model(email=self.normalize_email(email).lower(), **fields)
        user.set_password(password)
        user.save(using=self._db)
        return user

    def create_superuser(self, email: str, password: str | None = None, **fields: Any) -> "User":
        return self.create_user(email, password, is_staff=True, is_superuser=True, **fields)


class User(AbstractBaseUser, PermissionsMixin):
    email = models.EmailField(unique=True)
    name = models.CharField(max_length=120, blank=True)
    is_staff = models.BooleanField(default=False)
    is_active = models.BooleanField(default=True)
    created_at = models.DateTimeField(auto_now_add=True)

    objects: ClassVar[UserManager] = UserManager()

    USERNAME_FIELD = "email"
    REQUIRED_FIELDS: ClassVar[list[str]] = []

    def __str__(self) -> str:
        return self.email


class PersonalAccessToken(models.Model):
    """A bearer token. Only a keyed hash of it is kept."""

    id = models.CharField(primary_key=True, max_length=40)  # pat_<ulid>
    owner = models.ForeignKey(User, on_delete=models.CASCADE, related_name="tokens")
    name = models.CharField(max_length=120)
    digest = models.BinaryField(max_length=32, unique=True)
    last4 = models.CharField(max_length=4)
    scopes = ArrayField(models.CharField(max_length=40))
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return f"bw_live_pat_…{self.last4}"


class Preference(models.Model):
    owner = models.ForeignKey(User, on_delete=models.CASCADE, related_name="preferences")
    key = models.CharField(max_length=80)
    value = models.JSONField()
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["owner", "key"], name="preference_once")]

    def __str__(self) -> str:
        return self.key


class IdempotencyRecord(models.Model):
    """One stored answer per (account, route, key). ``status`` is null while the first request is under way."""

    owner = models.ForeignKey(User, on_delete=models.CASCADE)
    route = models.CharField(max_length=200)
    key = models.CharField(max_length=255)
    fingerprint = models.BinaryField(max_length=32)
    status = models.IntegerField(null=True)
    body = models.BinaryField(null=True)
    claimed_until = models.DateTimeField()
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["owner", "key"], name="idempotency_once")]

    def __str__(self) -> str:
        return f"{self.route} {self.key}"


class RateWindow(models.Model):
    """How many requests came under ``key`` in the window that ends at ``ends``. An unlogged table: a crash forgets."""

    key = LeanKey(primary_key=True, max_length=120)
    used = models.IntegerField()
    ends = models.DateTimeField()

    def __str__(self) -> str:
        return str(self.key)
