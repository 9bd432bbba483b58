"""What the API answers about a secret: everything but its value."""

from typing import Any

from kernel.clock import stamp
from secrets_vault.models import Secret, SecretUse


def secret_object(secret: Secret) -> dict[str, Any]:
    rules = sorted(secret.rules.all(), key=lambda rule: rule.host_pattern)
    return {
        "object": "secret",
        "id": secret.pk,
        "name": secret.name,
        "description": secret.description,
        "preview": secret.preview,
        "version": secret.version,
        "rules": [
            {
                "host_pattern": rule.host_pattern,
                "inject_kind": rule.inject_kind,
                "inject_target": rule.inject_target,
            }
            for rule in rules
        ],
        "created_at": stamp(secret.created_at),
        "updated_at": stamp(secret.updated_at),
    }


def use_object(use: SecretUse) -> dict[str, Any]:
    return {
        "object": "secret_use",
        "secret": use.secret_id,
        "version": use.version,
        "run": use.reference or None,  # a connection was tried
        "via": use.via,
        "host": use.host,
        "path": use.path,
        "uses": use.uses,
        "first_at": stamp(use.first_at),
        "last_at": stamp(use.last_at),
    }
