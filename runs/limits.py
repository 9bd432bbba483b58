"""Ceilings of a launch, pure: what may be declared, what it means inside, and which one was reached.

Outside: dollars and seconds as JSON numbers, counts as integers. Inside: micro-cents (int), seconds (float),
counts (int).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from difflib import get_close_matches
from typing import Any

from kernel.errors import DomainError, invalid
from kernel.money import from_dollars, to_dollars

PHASES = ("find", "analyze", "atomize", "materialize", "report")
MATRIX: dict[str, tuple[str, ...]] = {
    "run": ("cost", "model_cost", "duration", "tokens", "tasks"),
    "phase": ("cost", "model_cost", "duration", "tokens"),
    "task": ("cost", "model_cost", "duration", "tokens", "attempts"),
    "attempt": ("duration", "tokens"),
}
MONEY = {"cost", "model_cost"}
LARGEST = 2**53  # of any figure: seconds, dollars or a count
# What a ceiling of each name is compared with; `tasks` and `attempts` cap up front and are never "reached".
CHECKED = ("cost", "model_cost", "duration", "tokens")
# The older spelling carries its units in its names.
CONSTRAINTS = {"max_cost_cents": "cost", "max_duration_ms": "duration", "max_tasks": "tasks"}

Number = int | float


@dataclass(frozen=True)
class Level:
    """The ceilings of one level; None = none declared."""

    cost: int | None = None  # micro-cents, everything billed or metered
    model_cost: int | None = None  # micro-cents, the SUT's calls
    duration: float | None = None  # seconds
    tokens: int | None = None  # in + out
    tasks: int | None = None
    attempts: int | None = None

    def __bool__(self) -> bool:
        return self != NO_CEILING

    def reached(self, figures: Mapping[str, Number | None]) -> str | None:
        """The first quantity whose figure is at or above its ceiling."""
        for name in CHECKED:
            ceiling, figure = getattr(self, name), figures.get(name)
            if ceiling is not None and figure is not None and figure >= ceiling:
                return name
        return None


NO_CEILING = Level()


@dataclass(frozen=True)
class Ceilings:
    """All ceilings of one run."""

    run: Level = NO_CEILING
    task: Level = NO_CEILING
    attempt: Level = NO_CEILING
    every_phase: Level = NO_CEILING
    phases: Mapping[str, Level] = field(default_factory=dict)

    def of_money(self) -> bool:
        """Whether any of them is about what something costs."""
        levels = (self.run, self.task, self.attempt, self.every_phase, *self.phases.values())
        return any(level.cost is not None or level.model_cost is not None for level in levels)

    def phase(self, name: str) -> Level:
        return self.phases.get(name, self.every_phase)

    def breach(self, level: str, figures: Mapping[str, Number | None], phase: str = "") -> str | None:
        """``"run.cost"`` where that ceiling is reached, else None.

        ``level``: run, phase (then ``phase`` names it), task, attempt. ``figures``: {"cost", "model_cost"} in
        micro-cents, "duration" in seconds, "tokens"; a missing figure is not checked.
        """
        ceilings = self.phase(phase) if level == "phase" else getattr(self, level)
        quantity = ceilings.reached(figures)
        return f"{level}.{quantity}" if quantity else None


def narrowed(ceilings: Ceilings, declared: Mapping[str, Any] | None) -> Ceilings:
    """The launch's ceilings and those of a connection (``run.model_cost``): whichever is reached first counts."""
    cap = parse(declared).run.model_cost if declared else None
    own = ceilings.run.model_cost
    if cap is None or (own is not None and own <= cap):
        return ceilings
    return replace(ceilings, run=replace(ceilings.run, model_cost=cap))


def note(reason: str, declared: Mapping[str, Any], sut: Mapping[str, Any]) -> str:
    """Whose ceiling stopped a run, where it was its connection's; "" where the launch's own was reached.

    ``declared`` and ``sut`` as the run records them; ``reason``: its halt_reason.
    """
    own = parse(declared)
    found = narrowed(own, sut.get("limits"))
    if reason != "limit_exceeded:run.model_cost" or found is own or found.run.model_cost is None:
        return ""
    name = str(sut.get("connection_name") or sut.get("connection"))[:120]
    dollars = to_dollars(int(found.run.model_cost))
    return f"the ceiling of the connection {name}, ${dollars:.{2 if dollars >= Decimal('0.01') else 8}f} for each run"


def _said(loc: list[str]) -> str:
    """``limits.run.cost``"""
    return ".".join(loc[1:])


def nearest(name: str, known: Mapping[str, object] | tuple[str, ...]) -> str:
    """`did you mean "cost"?`, or the list of what is known."""
    close = get_close_matches(name, list(known), n=1, cutoff=0.65)
    return f'did you mean "{close[0]}"?' if close else f"known: {', '.join(known)}"


def parse(declared: Mapping[str, Any]) -> Ceilings:
    """The ceilings of a ``limits`` object. Raises DomainError validation_failed that names the field."""
    for level in declared:
        if level not in MATRIX:
            raise invalid(["body", "limits", level], f"Unknown limit level {level!r}: {nearest(level, MATRIX)}")
    every_phase, phases = _phases(declared.get("phase", {}))
    return Ceilings(
        run=_level("run", declared.get("run", {}), ["body", "limits", "run"]),
        task=_level("task", declared.get("task", {}), ["body", "limits", "task"]),
        attempt=_level("attempt", declared.get("attempt", {}), ["body", "limits", "attempt"]),
        every_phase=every_phase,
        phases=phases,
    )


def _phases(declared: Any) -> tuple[Level, dict[str, Level]]:
    """One object for all phases, or one per phase name."""
    if isinstance(declared, Mapping) and declared and any(name in PHASES for name in declared):
        for name in declared:
            if name not in PHASES:
                raise invalid(["body", "limits", "phase", name], f"{name!r} is not a phase: {nearest(name, PHASES)}")
        return NO_CEILING, {
            name: _level("phase", each, ["body", "limits", "phase", name]) for name, each in declared.items()
        }
    return _level("phase", declared, ["body", "limits", "phase"]), {}


def _level(level: str, declared: Any, loc: list[str]) -> Level:
    if not isinstance(declared, Mapping):
        raise invalid(loc, f"{_said(loc)} must be an object such as {{{MATRIX[level][0]!r}: 5}}")
    figures = {}
    for name, value in declared.items():
        if name not in MATRIX[level]:
            raise invalid([*loc, name], _unknown(level, name))
        figures[name] = _figure(name, value, [*loc, name])
    return Level(**figures)


def _unknown(level: str, name: str) -> str:
    elsewhere = [other for other, names in MATRIX.items() if name in names]
    if elsewhere:
        return f"{level}.{name} can't be limited; {name} exists at: {', '.join(elsewhere)}"
    return f"Unknown quantity {name!r} at level {level}: {nearest(name, MATRIX[level])}"


def _figure(name: str, value: Any, loc: list[str]) -> Any:
    if name in MONEY:
        return from_dollars(decimal(value, loc, "dollars"))
    if name == "duration":
        return float(decimal(value, loc, "seconds"))
    return count(value, loc)


def decimal(value: Any, loc: list[str], unit: str) -> Decimal:
    """A JSON number above zero, exactly as written."""
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        raise invalid(loc, f"{_said(loc)} must be a number of {unit}")
    if not 0 < value <= LARGEST:  # false for NaN too
        raise invalid(loc, f"{_said(loc)} must be more than 0 and at most {LARGEST} {unit}")
    number = Decimal(str(value))
    if unit == "dollars" and from_dollars(number) < 1:
        raise invalid(loc, f"{_said(loc)} is below the smallest amount, 0.00000001 dollars")
    return number


def count(value: Any, loc: list[str]) -> int:
    """A whole number of at least 1."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise invalid(loc, f"{_said(loc)} must be a whole number")
    if not 1 <= value <= LARGEST:
        raise invalid(loc, f"{_said(loc)} must be between 1 and {LARGEST}")
    return value


def from_constraints(constraints: Mapping[str, Any], limits: Mapping[str, Any]) -> dict[str, Any]:
    """``limits`` with the older ``constraints`` folded in. The same ceiling said twice is refused."""
    run = dict(limits.get("run", {})) if isinstance(limits.get("run", {}), Mapping) else {}
    for name, value in constraints.items():
        loc = ["body", "constraints", name]
        if name not in CONSTRAINTS:
            raise DomainError(
                "unknown_field",
                f"Unknown constraint {name!r}: {nearest(name, CONSTRAINTS)}",
                errors=[{"loc": loc, "msg": "unknown"}],
            )
        quantity = CONSTRAINTS[name]
        if quantity in run:
            raise DomainError(
                "mutually_exclusive",
                f"constraints.{name} and limits.run.{quantity} set the same ceiling; keep limits.run.{quantity}",
                errors=[{"loc": loc, "msg": f"also limits.run.{quantity}"}],
            )
        run[quantity] = _older(name, count(value, loc))
    return {**limits, "run": run} if run else dict(limits)


def _older(name: str, value: int) -> Number:
    if name == "max_cost_cents":
        return value / 100
    return value / 1000 if name == "max_duration_ms" else value
