"""Atomize by a model: it reads rows, tries code in the sandbox, and hands in a grader or a task_impl.py that is proved.

It is asked only for what no rule can do: a fork's description, rows without a grader, a grader that fails its test.
"""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pydantic import BaseModel, Field

from accounts.principal import Principal
from kernel import secret_signs
from kernel.errors import DomainError
from registry import graders, scorer_code, scorers, verdicts
from registry import queries as registry
from registry.models import Impl
from runs.artifacts import records
from runs.compute.base import Compute
from runs.compute.table import COMPUTE
from runs.context import Context, PhaseError
from runs.driver.asking import Asker
from runs.driver.base import Scorer
from runs.driver.llm.conversation import Talk, Tool
from runs.driver.llm.replies import Unusable
from runs.models import Run
from runs.selftest import keeping
from runs.selftest.prove import Subject, Verdict, prove

ROWS = 5  # that one use of read_rows shows
ROW_SHOWN = 1500  # characters of each
TRIAL_ROWS = 40  # that try_code proves on; what is handed in is proved on all
PARENT_SHOWN = 12_000  # characters of the scorer that a fork starts from
SYSTEM = """You write the scorer of a benchmark for Benchwright. Rows are {"task_id", "input", "expected"}.
Prefer a grader (data, compiled into a tested scorer): {"kind": "exact" | "contains" | "regex" | "numeric" | "choice" |
"tool_calls", …}; choice reads input.choices, tool_calls input.functions. Write code only where no grader fits: a
task_impl.py with one class Task(BenchTask), `from bench_task import BenchTask, chat` and the readers that you need.
`extract(self, path, index)` may be left out. `async def solve(self, index, input)` asks the model by
`await chat(messages, **params)`, which returns an OpenAI response, and returns its text.
`score(self, index, output, expected)` returns a number from 0 to 1 or {"score", "explanation", "metrics"}; it never
sees the input, so extract puts what it needs into expected. Readers: read_choice(output, choices) -> letter,
read_number(output), same_number(got, want), read_json(output), read_calls(output), same_calls(got, want),
read_code(output), strip_reasoning(output). They take the last answer, leave reasoning out and return None for what
can't be read. An answer that can't be read scores 0; never catch exceptions to return a number. The right answer
itself must score 1; an empty output, a refusal, an echo of the prompt must score 0. You never see the model under
test."""


class Handed(BaseModel):
    """What the model hands in: ``grader`` or ``code``; or why what was asked can't be done."""

    grader: dict[str, Any] | None = None
    code: str | None = None
    what_changed: str = Field(default="", max_length=2000)
    cannot: str | None = Field(default=None, max_length=1000)


class Author:
    """One authoring. ``place``: of its calls in the run's journal."""

    def __init__(self, context: Context, asker: Asker, place: int, plan: Mapping[str, Any]) -> None:
        self._context, self._asker, self._place, self._plan = context, asker, place, plan
        self._proved: dict[str, tuple[Impl, Verdict]] = {}

    async def write(self) -> Scorer:
        """A proved impl. Raises PhaseError ``phase_failed``, ``cannot_apply``."""
        run = self._context.run
        tools = [
            Tool("read_rows", f"Up to {ROWS} rows of the subset.", {"start": "index of the first, from 0"}, self._rows),
            Tool(
                "try_code",
                f"Prove a grader or code on {TRIAL_ROWS} rows in the sandbox; nothing is asked of any model.",
                {"grader": "an object, or", "code": "the text of task_impl.py"},
                self._try,
            ),
        ]
        talk = Talk(self._context, self._asker, self._place, Handed, tools, self._check)
        handed = await talk.hold(SYSTEM, await self._context.orm(_brief, run, dict(self._plan)))
        if handed.cannot:
            raise PhaseError(
                "cannot_apply",
                f"The driver says that it can't do this: {secret_signs.redact(handed.cannot)}",
                "Describe the change otherwise, or register the scorer that you mean (POST /v1/impls) and name it.",
            )
        impl, verdict = self._proved[_key(handed)]
        await self._context.orm(_keep, run, impl, verdict)
        doc = {"verdict": verdicts.shown(verdict, answers=False), "what_changed": handed.what_changed}
        return Scorer(impl.pk, False, {**doc, "grader": impl.grader} if impl.grader else doc)

    # -- tools -----------------------------------------------------------------------------------------------------

    async def _rows(self, args: dict[str, Any]) -> str:
        start = args.get("start", 0)
        if isinstance(start, bool) or not isinstance(start, int) or start < 0:
            raise Unusable("start must be a whole number from 0")
        return await self._context.orm(_rows_from, self._context.run, start)

    async def _try(self, args: dict[str, Any]) -> str:
        handed = Handed.model_validate({name: args.get(name) for name in ("grader", "code")})
        subject = await self._subject(handed)
        verdict = await prove(replace(subject, rows=subject.rows[:TRIAL_ROWS]), self._compute())
        return _words(verdict)

    # -- the result ------------------------------------------------------------------------------------------------

    async def _check(self, handed: Handed) -> str | None:
        """What to repair, or None: the scorer is registered and has proved itself on the rows."""
        if handed.cannot:
            return None
        subject = await self._subject(handed)
        if await self._context.orm(_is_as_it_was, self._context.run, subject.code):
            return "That is the scorer as it was. Change what is asked for, or say why it can't be done (cannot)."
        verdict = await prove(subject, self._compute())
        if not verdict["ok"]:
            return f"It did not prove itself. {_words(verdict)}"
        impl = await self._context.orm(_registered, self._context.run, handed)
        self._proved[_key(handed)] = (impl, verdict)
        return None

    async def _subject(self, handed: Handed) -> Subject:
        """What is to be proved. Raises Unusable for a grader or code that can't be used."""
        if (handed.grader is None) == (handed.code is None):
            raise Unusable("Give either grader or code.")
        try:
            return await self._context.orm(_subject, self._context.run, handed, self._plan.get("chance"))
        except DomainError as refusal:
            told = "; ".join(
                f"{'.'.join(str(part) for part in each['loc'][1:])}: {each['msg']}" for each in refusal.errors
            )
            raise Unusable(f"{refusal.detail} {told}"[:2000]) from None

    def _compute(self) -> Compute:
        made: Compute = COMPUTE[self._context.run.backend]()
        return made


def _key(handed: Handed) -> str:
    return json.dumps([handed.grader, handed.code], sort_keys=True)


def _brief(run: Run, plan: dict[str, Any]) -> str:
    """What is wanted: the request, the plan, of a fork the scorer that it starts from and what shall change."""
    facts = {name: plan.get(name) for name in ("kind", "fields", "metric", "chance", "grader", "risks")}
    lines = [f"Request: {run.request or '(pinned launch)'}", f"Plan: {json.dumps(facts, default=str)[:6000]}"]
    impl = run.parent.impl if run.parent is not None else None
    if impl is not None:
        text = json.dumps(impl.grader) if impl.grader is not None else impl.code
        lines.append(f"The scorer that you start from ({'grader' if impl.grader is not None else 'code'}):")
        lines.append(text[:PARENT_SHOWN])
    if run.description:
        lines.append(f"Change it as this says, and nothing else: {run.description}")
    lines.append(f"First rows:\n{_rows_from(run, 0)}")
    return "\n\n".join(lines)


def _rows_from(run: Run, start: int) -> str:
    subject = keeping.rows_of(run.subset_id or "", run.subset_revision or 1, start, ROWS)
    return "\n".join(text[:ROW_SHOWN] for text in subject) or "There are no rows from there on."


def _subject(run: Run, handed: Handed, chance: float | None) -> Subject:
    if handed.grader is not None:
        full = graders.validate_grader(handed.grader)
        draft = Impl(
            subset=run.subset, code=graders.compile_grader(handed.grader), grader=full, judge=full.get("judge")
        )
    else:
        draft = Impl(subset=run.subset, code=scorer_code.check(handed.code or ""))
    return keeping.subject_of(draft, run.subset_revision, chance)


def _is_as_it_was(run: Run, code: str) -> bool:
    """Whether a scorer that was to be changed is still the one that the fork starts from."""
    impl = run.parent.impl if run.parent is not None else None
    return bool(run.description) and impl is not None and impl.code == code


def _registered(run: Run, handed: Handed) -> Impl:
    owner = Principal(run.owner, frozenset(), "")
    name = str((run.driver or {}).get("model", "driver"))
    label = f"{registry.BY_FORK if run.description else ''}authored by {name}"[:200]
    made = scorers.create(
        owner, run.subset_id or "", code=handed.code, grader=handed.grader, label=label,
        description=handed.what_changed, relabel=False,
    )  # fmt: skip
    return made.impl


def _keep(run: Run, impl: Impl, verdict: Verdict) -> None:
    keeping.keep(impl.pk, verdict)
    records.put(run.id, "verdict", "verdict.json", json.dumps(verdict).encode())


def _words(verdict: Verdict) -> str:
    """The verdict for the model: what held, what failed, one example of each failure."""
    lines = [f"Verdict: {verdict['badge']} ({verdict['rows']} rows)."]
    for each in verdict["checks"]:
        example = each.get("example")
        shown = f" Example: {json.dumps(example)[:600]}" if example and not each["ok"] else ""
        lines.append(f"{'ok' if each['ok'] else 'FAILED'} {each['name']}: {each['words']}{shown}")
    return "\n".join(lines)
