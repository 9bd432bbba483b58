"""The forms of a secret: what was typed, and what is wrong with it. A value is never shown again, right or wrong."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kernel.errors import DomainError
from registry.pages.forms import checked
from runs.pages.vault.presets import Preset
from secrets_vault.models import Secret
from secrets_vault.rules import KINDS, MAX_RULES
from secrets_vault.schemas import SecretPatch
from secrets_vault.vault import current_rules

SPARE = 3  # empty rows to add hosts in; who needs more saves and comes back
NAMES = {"host_pattern": "host", "inject_kind": "kind", "inject_target": "target"}


@dataclass
class Row:
    """One rule as it was typed. ``errors``: by host, kind and target."""

    host: str = ""
    kind: str = KINDS[0]
    target: str = ""
    errors: dict[str, str] = field(default_factory=dict)

    def rule(self) -> dict[str, object]:
        return {"host_pattern": self.host, "inject_kind": self.kind, "inject_target": self.target}


@dataclass
class SecretForm:
    """``errors``: field -> words; "" is the form as a whole."""

    name: str = ""
    description: str = ""
    rows: list[Row] = field(default_factory=list)
    errors: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, sent: Mapping[str, str]) -> "SecretForm":
        def read(name: str) -> str:
            return str(sent.get(name, "")).replace("\x00", "").strip()

        rows = [
            Row(read(f"host-{at}"), read(f"kind-{at}") or KINDS[0], read(f"target-{at}")) for at in range(MAX_RULES)
        ]
        return cls(read("name"), read("description"), [row for row in rows if row.host])

    @classmethod
    def filled_for(cls, preset: Preset | None) -> "SecretForm":
        """The form of a new secret, empty or for a provider."""
        if preset is None:
            return cls(rows=[Row()])
        return cls(name=preset.name, rows=[Row(preset.host, preset.kind, preset.target)])

    @classmethod
    def of_secret(cls, secret: Secret) -> "SecretForm":
        rows = [Row(rule.host_pattern, rule.inject_kind, rule.inject_target) for rule in current_rules(secret)]
        return cls(secret.name, secret.description, rows)

    @property
    def refused(self) -> bool:
        return bool(self.errors) or any(row.errors for row in self.rows)

    def check(self) -> None:
        """DomainError where a field is longer than the API would take it."""
        checked(SecretPatch, {"name": self.name, "description": self.description, "rules": self.rules()})

    def rules(self) -> list[dict[str, object]]:
        return [row.rule() for row in self.rows]

    def refuse(self, refusal: DomainError) -> None:
        """Put a refusal beside the fields that it names, else at the top. A key that was typed there is taken out."""
        for fault in refusal.errors:
            self._place([part for part in fault["loc"] if part != "body"], str(fault["msg"]), refusal)
        if not refusal.errors:
            self.errors[""] = refusal.detail
        if refusal.code == "secret_in_payload":
            for name in {"name", "description"} & set(self.errors):
                setattr(self, name, "")
            for row in self.rows:
                for name in row.errors:
                    setattr(row, name, "")

    def _place(self, loc: list[Any], words: str, refusal: DomainError) -> None:
        match loc:
            case ["rules", int(at), str(name)] if at < len(self.rows):
                self.rows[at].errors.setdefault(NAMES.get(name, "host"), words)
            case [("name" | "description" | "value") as name]:
                self.errors.setdefault(name, refusal.detail if len(refusal.errors) == 1 else words)
            case _:
                self.errors.setdefault("", refusal.detail)

    def shown(self) -> dict[str, Any]:
        """The form's rows and some empty ones, numbered as the template sends them back."""
        rows = self.rows or [Row()]
        spare = [Row() for _ in range(min(SPARE, MAX_RULES - len(rows)))]
        numbered = list(enumerate([*rows, *spare]))
        return {"form": self, "first": numbered[: len(rows)], "more": numbered[len(rows) :], "kinds": KINDS}
