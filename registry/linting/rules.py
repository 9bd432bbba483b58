"""The table of rules."""

from collections.abc import Callable, Iterator
from typing import Any

from registry.linting import answers, pieces, reaches, scores, word_sets
from registry.linting.flow import Flow
from registry.linting.found import Found
from registry.linting.reading import Reading

Rule = Callable[[Reading], Iterator[Found]]
RULES: tuple[Rule, ...] = (
    scores.ignored,
    scores.constant,
    scores.swallowed,
    scores.exit_code,
    answers.letter_range,
    answers.lost_check,
    reaches.network,
    reaches.chance,
    reaches.places,
    reaches.answers,
)
# Those that follow the output and the expected answer.
FLOWING: tuple[Callable[[Flow], Iterator[Found]], ...] = (
    scores.executed,
    scores.float_equal,
    answers.first_match,
    answers.letter_case,
    pieces.first_piece,
    pieces.anywhere,
    pieces.part_of_answer,
    word_sets.word_sets,
)


def look(code: str, facts: dict[str, Any]) -> list[Found]:
    """What the rules find, errors first, then by line. Raises SyntaxError and what else parsing raises."""
    read = Reading(code, facts)
    flow = Flow(read)
    found = {one for rule in RULES for one in rule(read)} | {one for rule in FLOWING for one in rule(flow)}
    return sorted(found, key=lambda one: (one.level, one.line, one.code))
