"""What a token may be allowed to do. No scope names tokens: a token can never mint a token."""

from kernel.errors import DomainError

SCOPES: dict[str, str] = {
    "runs:read": "Read runs, tasks, events",
    "runs:write": "Launch, fork, halt",
    "artifacts:read": "Reports, files, task payloads",
    "secrets:read": "Names and rules, never values",
    "secrets:write": "Add, rotate, delete",
    "billing:read": "Balance, transactions",
    "billing:write": "Top up, change the cap",
    "registry:read": "Benchmarks and leaderboards",
    "registry:publish": "Create, publish, fix benchmarks",
    "settings:read": "Read preferences",
    "settings:write": "Change preferences",
    "webhooks:read": "Endpoints and deliveries",
    "webhooks:write": "Add and test webhooks",
}

# Safe for a notebook.
STARTER = ("runs:read", "runs:write", "artifacts:read", "secrets:read", "billing:read", "registry:read")


def check(scopes: list[str]) -> list[str]:
    """``scopes`` without repetitions, in the table's order. Raises DomainError ``validation_failed``."""
    wrong = [scope for scope in scopes if scope not in SCOPES]
    if wrong or not scopes:
        msg = f"Unknown scope {wrong[0]}." if wrong else "Choose at least one scope."
        known = f"Known: {', '.join(SCOPES)}."
        raise DomainError("validation_failed", f"{msg} {known}", errors=[{"loc": ["body", "scopes"], "msg": msg}])
    return [scope for scope in SCOPES if scope in scopes]
