"""The table of rules."""

from collections.abc import Callable, Iterator
from typing import Any

from registry.linting import answers, reaches, scores
from registry.linting.found import Found
from registry.linting.reading import Reading

Rule = Callable[[Reading], Iterator[Found]]
RULES: tuple[Rule, ...] = (
    scores.ignored,
    scores.constant,
    scores.swallowed,
    scores.exit_code,
    answers.first_match,
    answers.letter_range,
    answers.lost_check,
    reaches.network,
    reaches.chance,
    reaches.places,
    reaches.answers,
)


def look(code: str, facts: dict[str, Any]) -> list[Found]:
    """What the rules find, errors first, then by line. Raises SyntaxError and what else parsing raises."""
    read = Reading(code, facts)
    found = {one for rule in RULES for one in rule(read)}
    return sorted(found, key=lambda one: (one.level, one.line, one.code))
