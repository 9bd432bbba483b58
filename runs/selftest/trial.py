"""What is asked of a scorer, row by row, until time is up: right answers, other rows' answers, dummies."""

import random
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from runs.selftest import spoken
from runs.selftest.bench import Asked, Bench, Mark
from runs.selftest.gold import Gold
from runs.selftest.panel import DUMMIES, Dummy, output_of

FIRST, CHUNK = 5, 25  # rows between two looks at the clock: at the beginning, later
REPEATED = 20  # of the first rows, whose outputs are scored a second time
SPOKEN = 40  # of the first rows, whose answers are tried among words


@dataclass(frozen=True)
class Row:
    """``given``: the uploaded row; ``input``/``expected``: what extract() made of it; ``options``: how many choices."""

    index: int
    task_id: str
    given: Mapping[str, Any]
    input: Any
    expected: Any
    gold: Gold | None
    options: int = 0


@dataclass(frozen=True)
class Shot:
    """One output and its mark. ``what``: gold, shuffled, dummy, spoken or miss; ``name``: the form or dummy.

    ``right``: the output is the row's right answer, whoever gave it.
    """

    row: Row
    what: str
    name: str
    output: Any
    mark: Mark
    right: bool = False


@dataclass
class Shots:
    """Everything that was tried. ``rows``: on how many rows; ``late``: the time was up before the rest."""

    all: list[Shot] = field(default_factory=list)
    rows: int = 0
    late: bool = False
    same: int = 0  # outputs that were scored twice and alike
    differed: list[tuple[Shot, Mark]] = field(default_factory=list)

    def of(self, what: str, name: str | None = None) -> list[Shot]:
        return [shot for shot in self.all if shot.what == what and name in (None, shot.name)]


class Trial:
    """``rows`` in the order in which they are tried; ``seconds``: after so long no further chunk is begun.

    ``spoken``: answers among words are tried too. After half of the time only right answers are tried: a scorer that is
    slow, since it runs programs, shall see many rows.
    """

    def __init__(self, bench: Bench, rows: Sequence[Row], seconds: float, *, spoken: bool = False) -> None:
        self._bench, self._rows, self._spoken = bench, list(rows), spoken
        now = time.monotonic()
        self._half, self._until = now + seconds / 2, now + seconds
        self._forms: Counter[str] = Counter()  # how often each form of the right answer has scored 1
        ring = [row for row in self._rows if row.gold is not None]
        random.Random(11).shuffle(ring)  # noqa: S311 - an order, no secret
        self._partners = {row.index: ring[at - 1] for at, row in enumerate(ring)} if len(ring) > 1 else {}
        self.shots = Shots()

    async def run(self) -> Shots:
        """Raises Unusable."""
        await self._probe([row for row in self._rows[:FIRST] if row.gold is not None])
        while (start := self.shots.rows) < len(self._rows):
            if start and time.monotonic() > self._until:
                self.shots.late = True
                break
            rows = self._rows[start : start + (CHUNK if start else FIRST)]
            await self._right(rows)
            if not start or time.monotonic() < self._half:
                await self._others(rows)
                await self._dummies(rows, start)
                if start < REPEATED:
                    await self._again([shot for shot in self.shots.all if shot.row in rows])
                if self._spoken and start < SPOKEN:
                    await self._among_words(rows)
            self.shots.rows += len(rows)
        return self.shots

    async def _probe(self, rows: Sequence[Row]) -> None:
        """Every form of these rows' right answers, to learn which one the scorer reads."""
        asked = [(row, name, output) for row in rows if row.gold for name, output in row.gold.forms.items()]
        marks = await self._ask([(row, output) for row, _, output in asked])
        for (_, name, _), mark in zip(asked, marks, strict=True):
            self._forms[name] += mark.score == 1.0

    def _named(self, gold: Gold) -> list[str]:
        """The forms of an answer, the one that the scorer has read most often first."""
        names = list(gold.forms)
        return sorted(names, key=lambda name: (-self._forms[name], names.index(name)))

    async def _right(self, rows: Sequence[Row]) -> None:
        """Each right answer in the form that works best; where that fails, in all the others."""
        keyed = [(row, row.gold) for row in rows if row.gold is not None]
        first = [(row, self._named(gold)[0]) for row, gold in keyed]
        marks = await self._ask([(row, gold.forms[name]) for (row, gold), (_, name) in zip(keyed, first, strict=True)])
        best = {row.index: (name, mark) for (row, name), mark in zip(first, marks, strict=True)}
        missed = [(row, gold) for row, gold in keyed if best[row.index][1].score != 1.0]
        tries = [(row, gold, name) for row, gold in missed for name in self._named(gold)[1:]]
        marks = await self._ask([(row, gold.forms[name]) for row, gold, name in tries])
        for (row, _, name), mark in zip(tries, marks, strict=True):
            if mark.score == 1.0 and best[row.index][1].score != 1.0:
                best[row.index] = (name, mark)
        for row, gold in keyed:
            name, mark = best[row.index]
            self._forms[name] += mark.score == 1.0
            self.shots.all.append(Shot(row, "gold", name, gold.forms[name], mark, right=True))

    async def _others(self, rows: Sequence[Row]) -> None:
        """The right answer to another row. ``right`` where that is the same answer."""
        pairs = [(row, self._partners[row.index]) for row in rows if row.index in self._partners]
        outputs = []
        for row, other in pairs:
            assert row.gold is not None
            assert other.gold is not None
            outputs.append((row, other.gold.forms[self._named(other.gold)[0]], row.gold.key == other.gold.key))
        marks = await self._ask([(row, output) for row, output, _ in outputs])
        for (row, output, same), mark in zip(outputs, marks, strict=True):
            self.shots.all.append(Shot(row, "shuffled", "shuffled", output, mark, right=same))

    async def _dummies(self, rows: Sequence[Row], start: int) -> None:
        tried = [
            (row, dummy, output_of(dummy, row.given.get("input")))
            for dummy in DUMMIES
            for at, row in enumerate(rows, start)
            if at < dummy.rows
        ]
        marks = await self._ask([(row, output) for row, _, output in tried])
        for (row, dummy, output), mark in zip(tried, marks, strict=True):
            right = is_right(row.gold, dummy, output)
            self.shots.all.append(Shot(row, "dummy", dummy.name, output, mark, right=right))

    async def _among_words(self, rows: Sequence[Row]) -> None:
        """Right answers behind other candidates, and wrong ones that hold the right one."""
        tried = [
            (row, what, name, output)
            for row in rows
            if row.gold is not None
            for what, found in (("spoken", spoken.right), ("miss", spoken.wrong))
            for name, output in found(row.gold, row.options).items()
        ]
        marks = await self._ask([(row, output) for row, _, _, output in tried])
        for (row, what, name, output), mark in zip(tried, marks, strict=True):
            self.shots.all.append(Shot(row, what, name, output, mark, right=what == "spoken"))

    async def _again(self, shots: Sequence[Shot]) -> None:
        """The same outputs a second time."""
        seen = [shot for shot in shots if len(str(shot.output)) < 10_000]
        marks = await self._ask([(shot.row, shot.output) for shot in seen])
        for shot, mark in zip(seen, marks, strict=True):
            if mark.score == shot.mark.score:
                self.shots.same += 1
            else:
                self.shots.differed.append((shot, mark))

    async def _ask(self, pairs: Sequence[tuple[Row, Any]]) -> list[Mark]:
        return await self._bench.score([Asked(row.index, output, row.expected) for row, output in pairs])


def is_right(gold: Gold | None, dummy: Dummy, output: str) -> bool:
    """Whether a dummy happens to say the right answer, which is no fault of the scorer."""
    if gold is None:
        return False
    if gold.anything:
        return bool(output.strip())
    said = output.strip().casefold()
    return any(isinstance(form, str) and form.strip().casefold() == said for form in gold.forms.values())
