"""What a request is read as: ``Reading``, with the ``Problem`` where it can't be carried out as it is."""

from dataclasses import dataclass, field

from runs.finding.benchmarks.candidates import Candidate, Json


@dataclass(frozen=True)
class Problem:
    """Why the request can't be carried out as it is. ``choices``: [{"id", "name", "reason"}], maybe none.

    ``unknown``: a name in it that neither registry nor catalogue knows, and that may be looked for elsewhere; or "".
    ``empty``: the id of the benchmark that is meant, which has no tasks yet; or "".
    """

    code: str
    question: str
    choices: tuple[Json, ...] = ()
    unknown: str = ""
    empty: str = ""


@dataclass(frozen=True)
class Reading:
    """What a request says. Without ``problem``, ``source`` is set, and ``sut`` too unless the launch has named it.

    ``params``: of the model, as the words say them. ``harness``: {"name", "task"?, "args"?} that they want.
    """

    source: Json | None = None
    sut: Json | None = None
    params: Json = field(default_factory=dict)
    part: str | None = None
    limit: int | None = None
    trials: int | None = None
    harness: Json | None = None
    confidence: float = 0.0
    candidates: tuple[Candidate, ...] = ()
    notes: tuple[str, ...] = ()
    problem: Problem | None = None
