"""What could go wrong with these tasks: told before anything is paid for."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from kernel import strict_json
from runs.analysis.making import Made, Task

Json = dict[str, Any]
LONG_CHARS = 60_000
_OPEN_LICENCES = re.compile(r"(?i)\b(mit|apache|bsd|cc0|cc[- ]?by(?![- ]?nc)|odc|unlicen[sc]e|public domain|isc|mpl)")


def risk(code: str, words: str, count: int | None = None) -> Json:
    return {"code": code, "words": words} | ({} if count is None else {"count": count})


def risks(made: Made, kind: str, licence: str, facts: Mapping[str, Any]) -> list[Json]:
    """Everything that is seen. ``facts``: of the snapshot."""
    found = [
        *_left_out(made),
        *_doubles(made.tasks),
        *(_choices(made.tasks) if kind == "multiple_choice" else ()),
        *_leaks(made.tasks, kind),
        *_long(made.tasks),
        *_licence(licence),
        *_place(facts),
    ]
    if made.renamed:
        found.append(risk("repeated_ids", "Task ids came twice and got a number.", made.renamed))
    return found


def _left_out(made: Made) -> list[Json]:
    return [
        risk("rows_left_out", f"Rows were left out: {why} ({', '.join(made.examples[why])}).", count)
        for why, count in made.left_out.items()
    ]


def _doubles(tasks: Sequence[Task]) -> list[Json]:
    answers: dict[bytes, list[bytes]] = {}
    for task in tasks:
        key = strict_json.canonical(task["input"])
        answers.setdefault(key, []).append(strict_json.canonical(task["expected"]))
    repeats = sum(len(each) - 1 for each in answers.values() if len(set(each)) == 1)
    torn = sum(len(each) for each in answers.values() if len(set(each)) > 1)
    found = []
    if repeats:
        found.append(risk("duplicate_rows", "Questions come twice or more; each counts as often.", repeats))
    if torn:
        found.append(
            risk("conflicting_labels", "The same question has different right answers; one of them is wrong.", torn)
        )
    return found


def _choices(tasks: Sequence[Task]) -> list[Json]:
    found = []
    same = sum(_repeats(task) for task in tasks)
    if same:
        found.append(risk("duplicate_choices", "Two choices of a task are the same text.", same))
    counted = Counter(str(task["expected"]) for task in tasks if not isinstance(task["expected"], list))
    total = sum(counted.values())
    if total >= 20 and len(counted) > 1:
        name, most = counted.most_common(1)[0]
        if most > 0.6 * total:
            words = f"{most / total:.0%} of the right answers are {name!r}: always saying that scores as much."
            found.append(risk("uneven_labels", words, most))
    return found


def _repeats(task: Task) -> bool:
    choices = task["input"].get("choices") if isinstance(task["input"], dict) else None
    return isinstance(choices, list) and len({str(each).strip() for each in choices}) < len(choices)


def _leaks(tasks: Sequence[Task], kind: str) -> list[Json]:
    """The right answer stands in the question. Where a text is given to look it up in, that is the point of it."""
    if kind not in ("free_text", "multiple_choice", "math"):
        return []
    told = [task for task in tasks if _alone(task["input"], kind)]
    count = sum(_leaked(task, kind) for task in told)
    if not told or count < max(1, 0.02 * len(told)):
        return []
    return [risk("answer_in_question", "The right answer stands in the question itself.", count)]


def _alone(told: Any, kind: str) -> bool:
    return isinstance(told, str) or (isinstance(told, dict) and len(set(told) - {"choices"}) == 1)


def _leaked(task: Task, kind: str) -> bool:
    told = task["input"]
    question = told if isinstance(told, str) else next((told[name] for name in told if name != "choices"), "")
    expected = task["expected"]
    if not isinstance(question, str) or not isinstance(expected, (str, int, float)) or isinstance(expected, bool):
        return False
    answer = str(expected).strip()
    if kind == "free_text":
        return len(answer) > 3 and answer.casefold() in question.casefold()
    return (
        re.search(rf"(?i)\b(?:right |correct |final )?answer\s*(?:is|:)\s*\(?{re.escape(answer)}\b", question)
        is not None
    )


def _long(tasks: Sequence[Task]) -> list[Json]:
    count = sum(len(strict_json.dumps(task["input"])) > LONG_CHARS for task in tasks)
    words = f"Questions are longer than {LONG_CHARS:,} bytes: they may not fit into the model's context."
    return [risk("long_inputs", words, count)] if count else []


def _licence(licence: str) -> list[Json]:
    if not licence or licence.casefold() in ("unknown", "other", "not stated"):
        words = "The place does not say under which licence the rows are. Ask before publishing them."
        return [risk("licence_unknown", words)]
    if not _OPEN_LICENCES.search(licence):
        words = f"The licence {licence} may restrict what you do with the rows. Read it first."
        return [risk("licence_restricted", words)]
    return []


def _place(facts: Mapping[str, Any]) -> list[Json]:
    found = []
    if facts.get("split") == "train":
        found.append(risk("train_split", "The rows are a train split: models may have been trained on them."))
    if facts.get("left_out"):
        names = ", ".join(facts["left_out"])
        found.append(risk("columns_left_out", f"Columns of bytes were left out ({names}); a question may need them."))
    if facts.get("was"):
        found.append(risk("rows_changed", "The rows that were kept are lost, and the place shows others by now."))
    return found
