"""Two small questions to a driver model: which of the candidates is meant, and which column is which."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, Field, create_model

from runs.context import Context
from runs.driver.asking import Asker
from runs.driver.llm.conversation import Talk

Shape = TypeVar("Shape", bound=BaseModel)
CHOOSE = """You read a request for a benchmark run and choose which of the candidates it means. Choose only where the
words of the request leave no doubt; a wrong benchmark is worse than none. If two fit equally well, or none does, the
choice is null."""
MAP = """You say which columns of a data set hold what, so that its rows become tasks of a benchmark. Use only columns
that are listed. The question is what a model is asked, expected is its right answer, choices are the options of
multiple choice."""


MOST_LISTED = 200  # ids or columns that the schema of a reply lists


class Choice(BaseModel):
    choice: str | None = Field(description="The id of one candidate, or null.")
    reason: str = Field(default="", max_length=500)


class Columns(BaseModel):
    """``can`` = no: these rows can't be tasks."""

    can: Literal["yes", "no"]
    question: str | None = None
    expected: str | None = None
    choices: list[str] | None = Field(default=None, max_length=26)
    task_id: str | None = None


def _among(shape: type[Shape], known: Sequence[str], *names: str) -> type[Shape]:
    """The shape whose JSON schema allows these fields nothing but ``known`` or null, for providers that decode by it.

    What they say is checked all the same: not every provider does.
    """
    if len(known) > MOST_LISTED:
        return shape
    listed: Any = {"anyOf": [{"type": "string", "enum": list(known)}, {"type": "null"}]}
    fields: dict[str, Any] = {}
    for name in names:
        plain = shape.model_fields[name]
        fields[name] = (plain.annotation, Field(plain.default, description=plain.description, json_schema_extra=listed))
    return create_model(shape.__name__, __base__=shape, **fields)


async def choose(
    context: Context, asker: Asker, place: int, request: str, hints: Sequence[Any], choices: Sequence[Mapping[str, Any]]
) -> Choice:
    """The candidate that the request means; ``choice`` None where that is in doubt. Raises PhaseError.

    It is asked twice, the second time with the candidates in reverse: a model that does not know takes what stands
    first or last, and so contradicts itself.
    """
    known = [str(one["id"]) for one in choices]

    async def check(found: Choice) -> str | None:
        return None if found.choice is None or found.choice in known else f"choice must be null or one of {known}"

    async def ask(listed: Sequence[Mapping[str, Any]]) -> Choice:
        shown = [{name: one.get(name) for name in ("id", "name", "part", "reason")} for one in listed]
        brief = json.dumps({"request": request, "hints": list(hints), "candidates": shown}, ensure_ascii=False)
        shape = _among(Choice, [str(one["id"]) for one in listed], "choice")
        return await Talk(context, asker, place, shape, (), check).hold(CHOOSE, brief)

    found = await ask(choices)
    if found.choice is None or len(choices) < 2:
        return found
    again = await ask(choices[::-1])
    return found if again.choice == found.choice else Choice(choice=None, reason="asked twice, it chose differently")


async def map_columns(
    context: Context, asker: Asker, place: int, request: str, columns: Sequence[Mapping[str, Any]]
) -> list[str]:
    """Hints about columns, as a person would give them; [] where the rows can't be tasks. Raises PhaseError.

    ``columns``: [{"name", "examples", …}] as the rows' reader saw them.
    """
    known = [str(one["name"]) for one in columns]

    async def check(found: Columns) -> str | None:
        named = [found.question, found.expected, found.task_id, *(found.choices or [])]
        unknown = [name for name in named if name is not None and name not in known]
        if unknown:
            return f"There is no column {unknown[0]!r}. Columns: {', '.join(known)}."
        if found.can == "yes" and (found.question is None or found.expected is None):
            return "Name at least the columns of question and expected, or say that it can't be done."
        return None

    brief = json.dumps({"request": request, "columns": list(columns)}, ensure_ascii=False, default=str)
    shape = _among(Columns, known, "question", "expected", "task_id")
    found = await Talk(context, asker, place, shape, (), check).hold(MAP, brief[:20_000])
    if found.can == "no":
        return []
    hints = [f'question column is "{found.question}"', f'answer column is "{found.expected}"']
    if found.choices:
        hints.append("choices are " + ", ".join(f'"{name}"' for name in found.choices))
    if found.task_id:
        hints.append(f'id column is "{found.task_id}"')
    return hints
