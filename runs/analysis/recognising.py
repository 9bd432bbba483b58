"""What rows are, told by their columns: the kind, how a row becomes a task, how an answer is graded."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from runs.analysis import kinds
from runs.analysis.hints import asked_for
from runs.analysis.kinds import Seen
from runs.analysis.looking import Row, columns, examples

Json = dict[str, Any]


@dataclass(frozen=True)
class Recognised:
    """``fields``: as docs/catalogue.md has them. ``grader``: as docs/graders.md, None where none of ours fits.

    ``labels``: names of labels that became choices. ``notes``: what a reader should know, in words.
    """

    kind: str
    fields: Json
    grader: Json | None
    notes: list[str] = field(default_factory=list)


class Unclear(Exception):
    """It can't be told: ``words`` say what is missing, ``columns`` what was seen."""

    def __init__(self, words: str, seen: list[Json]) -> None:
        super().__init__(words)
        self.words, self.columns = words, seen


def recognise(
    rows: Sequence[Row], labels: Mapping[str, Sequence[str]] | None = None, hints: Sequence[str] = ()
) -> Recognised:
    """``labels``: names of numbered labels, by column. ``hints``: the owner's, such as "answer column is gold".

    Raises Unclear.
    """
    found = columns(rows)
    return recognised(Seen(found, labels or {}, asked_for(hints, list(found)), len(rows)))


def recognised(seen: Seen) -> Recognised:
    """The same of columns that were looked at. Raises Unclear."""
    for kind in (kinds.function_call, kinds.code, kinds.multi_turn, kinds.multiple_choice, kinds.answer):
        made = kind(seen)
        if made is not None:
            return Recognised(*made)
    raise Unclear(_lacking(seen), examples(seen.columns))


def _lacking(seen: Seen) -> str:
    question, expected = kinds.question_of(seen), kinds.expected_of(seen)
    if question is None and expected is None:
        return "No column looks like a question, and none like its right answer"
    if question is None:
        return f"No column looks like a question (the right answer seems to be {expected!r})"
    if expected is None:
        return f"No column looks like the right answer (the question seems to be {question!r})"
    return f"It can't be told how the answers in {expected!r} are to be compared"
