"""What a driver does, phase by phase. Its work is stored by the phase; a driver writes nothing itself.

A driver may be asked the same again after a crash: what it returns must depend on its brief alone.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from runs.context import Context

Json = dict[str, Any]


class Asks(Exception):
    """The phase can't be finished without a decision of the run's owner.

    ``question``: {"question": words, "choices": [{"id", "name", "reason", …}], "plan"?}. With
    ``metadata.autonomous=false`` the run waits as ``needs_input``; otherwise it fails with ``code`` and ``hint``.
    """

    def __init__(self, code: str, question: Json, hint: str) -> None:
        super().__init__(f"{code}: {question['question']}")
        self.code, self.question, self.hint = code, question, hint


@dataclass(frozen=True)
class Found:
    """Find's answer. ``sut``: {"model", "provider", "params"} as the request names it, or None where the launch did.

    ``source``: where the rows come from: {"kind": "registry" | "catalogue" | "huggingface" | "url" | …, "ref", "name",
    "part", …}. ``limit``: how many samples the request asks for. ``doc``: everything found, for people and `plan`.
    """

    source: Json
    sut: Json | None = None
    limit: int | None = None
    trials: int | None = None
    doc: Json = field(default_factory=dict)


@dataclass(frozen=True)
class Rows:
    """Analyze's answer: a subset that can run. ``doc`` is the plan that the owner reads (and may edit)."""

    subset_id: str
    revision: int
    tasks: int
    positions: list[int] | None = None
    doc: Json = field(default_factory=dict)


@dataclass(frozen=True)
class Scorer:
    """Atomize's answer: a registered impl that has passed its self-test. ``reused``: nobody had to author it."""

    impl_id: str
    reused: bool
    doc: Json = field(default_factory=dict)


class Driver(Protocol):
    """Each may raise Asks (a decision is needed), PhaseError (it can't be done; why, and what to do)."""

    async def find(self, context: Context) -> Found: ...

    async def analyze(self, context: Context, found: Mapping[str, Any]) -> Rows: ...

    async def atomize(self, context: Context, found: Mapping[str, Any], plan: Mapping[str, Any]) -> Scorer: ...
