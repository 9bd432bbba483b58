"""The scorer form: what was typed, and the grader or the code that it means."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kernel.errors import DomainError, invalid
from registry.pages.grader_options import FIRST, KINDS, OPTIONS, Option

WAYS = ("", *KINDS, "code")
_LONGEST = 2 << 20
_WHOLE = ("max_tokens",)


@dataclass
class ScorerForm:
    """Everything typed, as text, and what is wrong with it: field -> words."""

    kind: str
    values: dict[str, str]
    code: str = ""
    errors: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, sent: Mapping[str, str], *, posted: bool, kind: str = "") -> "ScorerForm":
        """From a form; ``posted`` False: as it is first shown."""
        if not posted:
            return cls(kind, {option.name: option.default for option in OPTIONS})
        values = {option.name: str(sent.get(option.name, ""))[:_LONGEST] for option in OPTIONS}
        chosen = str(sent.get("kind", ""))
        code = str(sent.get("code", "")).replace("\r\n", "\n")
        return cls(chosen if chosen in WAYS else "", values, code[:_LONGEST])

    def meant(self) -> dict[str, Any]:
        """``{}``, ``{"code": text}`` or ``{"grader": {...}}``. Raises DomainError for what is no number."""
        if self.kind == "code":
            return {"code": self.code}
        if not self.kind:
            return {}
        grader: dict[str, Any] = {"kind": self.kind}
        for option in OPTIONS:
            if self.kind in option.kinds and self.values[option.name].strip() != option.default:
                _put(grader, option.path, self._value(option))
        return {"grader": grader}

    def _value(self, option: Option) -> Any:
        text = self.values[option.name]
        if option.widget == "check":
            return text == "on"
        if option.widget != "number":
            return text.replace("\r\n", "\n") if option.widget == "area" else text.strip()
        if not re.fullmatch(r"[0-9]{1,15}(\.[0-9]{1,15})?", text.strip(), re.ASCII):
            raise invalid(["body", "grader", *option.path], "Write a number.")
        return int(text) if option.name in _WHOLE and text.strip().isdigit() else float(text)

    def refuse(self, refusal: DomainError) -> bool:
        """Put a refusal beside the fields that it is about; False where it is about none of this form."""
        before = len(self.errors)
        for fault in refusal.errors:
            loc = [str(part) for part in fault["loc"] if part != "body"]
            if loc[:1] == ["code"]:
                self.errors["code"] = refusal.detail
            elif loc[:1] == ["grader"]:
                whole = "pattern" if self.kind == "regex" else "kind"  # the pattern is checked with its signs
                self.errors.setdefault(_name(tuple(loc[1:])) or whole, str(fault["msg"]))
        return len(self.errors) > before

    def shown(self) -> dict[str, Any]:
        """For the template: the kinds, the asked fields and the folded ones, the code with the line at fault."""
        fields = [self._shown(option) for option in OPTIONS]
        return {
            "kind": self.kind,
            "kinds": [(name, head, says) for name, (head, says) in KINDS.items()],
            "first": [one for one in fields if one["name"] in FIRST],
            "rest": [one for one in fields if one["name"] not in FIRST],
            "rest_open": any(one["error"] for one in fields if one["name"] not in FIRST),
            "code": self.code,
            "code_error": self.errors.get("code", ""),
            "excerpt": _excerpt(self.code, self.errors.get("code", "")),
            "other_error": self.errors.get("kind", ""),
        }

    def _shown(self, option: Option) -> dict[str, Any]:
        choices = option.widget if isinstance(option.widget, tuple) else ()
        error = self.errors.get(option.name, "") if self.kind in option.kinds else ""
        return {**option._asdict(), "kinds": " ".join(option.kinds), "value": self.values[option.name],
                "choices": choices, "error": error}  # fmt: skip


def _put(grader: dict[str, Any], path: tuple[str, ...], value: Any) -> None:
    for part in path[:-1]:
        grader = grader.setdefault(part, {})
    grader[path[-1]] = value


def _name(path: tuple[str, ...]) -> str:
    """The field of the form that a place of the grader is typed into; "" where there is none."""
    for length in range(len(path), 0, -1):
        for option in OPTIONS:
            if option.path[:length] == path[:length]:
                return option.name
    return ""


def _excerpt(code: str, said: str) -> list[tuple[int, str, bool]]:
    """The lines around the one that a refusal names: (number, text, is it the one)."""
    named = re.search(r"\b[Ll]ine (\d+)", said)
    lines = code.split("\n")
    if not named or not 1 <= int(named[1]) <= len(lines):
        return []
    at = int(named[1])
    return [(n, lines[n - 1], n == at) for n in range(max(1, at - 2), min(len(lines), at + 2) + 1)]
