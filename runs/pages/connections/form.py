"""The form of a connection: everything typed, as text, and what is wrong with it."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from typing import Any

from kernel.errors import DomainError, invalid
from kernel.money import to_dollars
from runs.connections.setting_up import EVERY_MODEL, MOST_PRICES, PRICED, ROUTING, Wanted
from secrets_vault.models import Connection

SPARE = 2  # empty rows to add prices in; who needs more saves and comes back
TEXTS = ("name", "provider", "base_url", "secret", "model", "model_cost", *ROUTING)
LONGEST = {"base_url": 500, "model": 200}
_OWN = frozenset({"model", "limits"})  # the parts of metadata that the form shows


@dataclass
class PriceRow:
    """Prices of one model, in dollars per million tokens. ``errors``: by model and price."""

    model: str = ""
    input: str = ""
    output: str = ""
    cached_input: str = ""
    errors: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, model: str, prices: Mapping[str, str]) -> "PriceRow":
        return cls(model, prices["input"], prices["output"], prices["cached_input"])

    def filled(self) -> bool:
        return bool(self.model or self.input or self.output or self.cached_input)


@dataclass
class ConnectionForm:
    """``values`` by field; ``errors``: field -> words, "" is the form as a whole.

    ``kept``: the metadata that it doesn't show.
    """

    kind: str
    values: dict[str, str]
    rows: list[PriceRow] = field(default_factory=list)
    kept: dict[str, Any] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, sent: Mapping[str, str], kind: str) -> "ConnectionForm":
        def read(name: str) -> str:
            return str(sent.get(name, "")).replace("\x00", "").strip()

        rows = [
            PriceRow.of(read(f"model-{at}"), {each: read(f"{each}-{at}").removeprefix("$") for each in PRICED})
            for at in range(MOST_PRICES + SPARE)
        ]
        values = {name: read(name) for name in TEXTS}
        values["model_cost"] = values["model_cost"].removeprefix("$")
        return cls(kind, values, [row for row in rows if row.filled()])

    @classmethod
    def of_connection(cls, found: Connection) -> "ConnectionForm":
        secret = found.secret if found.secret is not None and found.secret.deleted_at is None else None
        values = {"name": found.name, "provider": found.provider, "base_url": found.base_url}
        values |= {"secret": secret.name if secret else "", "model": str(found.metadata.get("model") or "")}
        cap = found.metadata.get("limits", {}).get("run", {}).get("model_cost")
        values["model_cost"] = "" if cap is None else _plain(Decimal(str(cap)))
        values |= {name: found.routing.get(name, "") for name in ROUTING}
        rows = [
            PriceRow.of(
                "" if model == EVERY_MODEL else model, {name: _plain(to_dollars(each[name])) for name in PRICED}
            )
            for model, each in found.prices.items()
        ]
        made = cls(found.kind, values, rows)
        return made.keeping(found)

    def keeping(self, found: Connection) -> "ConnectionForm":
        """What the connection's metadata holds beside the form stays as it is; so do kind and provider."""
        self.kind, self.values["provider"] = found.kind, found.provider
        self.kept = {name: value for name, value in found.metadata.items() if name not in _OWN}
        return self

    def __getitem__(self, name: str) -> str:
        return self.values[name]

    @property
    def refused(self) -> bool:
        return bool(self.errors) or any(row.errors for row in self.rows)

    def wanted(self) -> Wanted:
        """What was asked for. DomainError ``validation_failed`` for what is too long or no number."""
        for name, most in LONGEST.items():
            if len(self[name]) > most:
                raise invalid(["body", name], f"At most {most} characters.")
        prices = {}
        for at, row in enumerate(self.rows):
            name = row.model or EVERY_MODEL
            if name.lower() in prices:
                raise invalid(["body", "rows", at, "model"], f"{name} is there twice.")
            prices[name.lower()] = self._prices(at, row)
        routing = {name: self[name] for name in ROUTING if self[name]}
        metadata = dict(self.kept) | ({"model": self["model"]} if self["model"] else {})
        if self["model_cost"]:
            metadata["limits"] = {"run": {"model_cost": _number(self["model_cost"], ["body", "model_cost"])}}
        return Wanted(self.kind, self["provider"], self["base_url"], prices, routing, metadata)

    def _prices(self, at: int, row: PriceRow) -> dict[str, int | float]:
        given = {name: getattr(row, name) for name in PRICED}
        for name in ("input", "output"):
            if not given[name]:
                raise invalid(["body", "rows", at, name], f"Write what {name} costs; 0 where it is free.")
        return {name: _number(text, ["body", "rows", at, name]) for name, text in given.items() if text}

    def refuse(self, refusal: DomainError) -> None:
        """Put a refusal beside the fields that it names, else at the top."""
        for fault in refusal.errors:
            self._place([part for part in fault["loc"] if part != "body"], str(fault["msg"]), refusal)
        if not refusal.errors:
            self.errors[""] = refusal.detail
        if refusal.code == "secret_in_payload":  # a key that was typed there is not shown again
            for name in set(self.values) & set(self.errors):
                self.values[name] = ""

    def _place(self, loc: list[Any], words: str, refusal: DomainError) -> None:
        said = refusal.detail if len(refusal.errors) == 1 else words
        match loc:
            case ["rows", int(at), str(name)]:
                self.rows[at].errors.setdefault(name, said)
            case ["prices", str(model), *rest]:
                row = next((row for row in self.rows if (row.model or EVERY_MODEL).lower() == model.lower()), None)
                (row.errors if row else self.errors).setdefault(str(rest[0]) if row and rest else "model", said)
            case [*_, "model_cost"]:
                self.errors.setdefault("model_cost", said)
            case ["routing" | "metadata", str(name), *_] if name in self.values:
                self.errors.setdefault(name, said)
            case ["routing", *_]:
                self.errors.setdefault(ROUTING[0], said)
            case [str(name), *_] if name in self.values:
                self.errors.setdefault(name, said)
            case _:
                self.errors.setdefault("", said)

    def shown(self) -> dict[str, Any]:
        """The form's rows of prices and some empty ones, numbered as the template sends them back."""
        spare = [PriceRow() for _ in range(SPARE)]
        return {"form": self, "rows": list(enumerate([*self.rows, *spare]))}


def _plain(amount: Decimal) -> str:
    """A decimal without an exponent and without useless zeros."""
    text = f"{amount:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _number(text: str, loc: list[str | int]) -> int | float:
    """The number as JSON would hold it. DomainError ``validation_failed``."""
    try:
        value = Decimal(text) if len(text) <= 30 else Decimal("NaN")
    except InvalidOperation:
        value = Decimal("NaN")
    if not value.is_finite() or "_" in text or not math.isfinite(float(value)):
        raise invalid(loc, "Write an amount in dollars, such as 0.15.")
    return int(value) if value == value.to_integral_value() else float(value)
