"""From what was tried to a verdict; pure. What it says in words holds no answers: those stand in ``example`` alone."""

import json
from collections.abc import Sequence
from typing import Any

from runs.selftest import spoken
from runs.selftest.bench import JUDGE, Mark
from runs.selftest.panel import DUMMIES
from runs.selftest.trial import Shot, Shots
from runs.statistics import by_chance

ALPHA = 0.001  # how seldom a scorer that is right may look wrong by chance, per check
GUESS = 0.05  # share of rows on which what may guess is taken to guess right, where there are no choices
CREDIT = 0.1  # partial credit that a scorer may give to anything
SHOWN = 200
BARE = {"number", "letter", "text"}

PROVEN, NOT_APPLICABLE = "proven", "proven, oracle not applicable"
GAMEABLE, BROKEN = "gameable", "broken"
Check = dict[str, Any]


def checks_of(shots: Shots, threshold: float, chance: float | None) -> list[Check]:
    """``threshold``: from what score an answer passes; ``chance``: what guessing scores, where the plan knows it."""
    guess = max(chance or 0.0, _chance(shots))
    found = [_gold(shots), _shuffled(shots, guess), _panel(shots, threshold, guess), _same(shots), _alive(shots)]
    found += [_reading(shots), _line_end(shots), _near_miss(shots)]
    return [one for one in [*found, _key(shots, guess)] if one is not None]


def badge_of(checks: Sequence[Check]) -> str:
    by_name = {one["name"]: one for one in checks}
    failed = {one["name"] for one in checks if not one["ok"]}
    if failed - {"shuffled", "null_panel", "near_miss"}:
        return BROKEN
    if failed:
        return GAMEABLE
    return PROVEN if by_name.get("gold", {}).get("figures", {}).get("derived") else NOT_APPLICABLE


def check(name: str, ok: bool, words: str, figures: dict[str, Any] | None = None, example: Any = None) -> Check:
    made: Check = {"name": name, "ok": ok, "words": words}
    if figures is not None:
        made["figures"] = figures
    if example is not None:
        made["example"] = example
    return made


def _gold(shots: Shots) -> Check:
    """Every right answer scores 1."""
    tried = [shot for shot in shots.of("gold") if shot.mark.error != JUDGE]
    sure = [shot for shot in tried if shot.row.gold and (shot.row.gold.sure or shot.mark.score == 1.0)]
    passed = [shot for shot in sure if shot.mark.score == 1.0]
    figures = {"derived": len(sure), "passed": len(passed), "rows": shots.rows}
    if not sure:
        why = "a judge model decides" if shots.of("gold") else "no right answer can be told from these rows"
        return check("gold", True, f"Oracle not applicable: {why}.", figures)
    if len(passed) == len(sure):
        rest = "" if len(sure) == shots.rows else f"; from {shots.rows - len(sure)} rows none can be told"
        return check("gold", True, f"The right answer scores 1 on {len(sure)} of {len(sure)} rows{rest}.", figures)
    wrong = next(shot for shot in sure if shot.mark.score != 1.0)
    words = (
        f"The right answer scores 1 on only {len(passed)} of {len(sure)} rows. On task {wrong.row.task_id} it "
        f"{_told(wrong.mark)}."
    )
    return check("gold", False, words, figures, _example(wrong))


def _shuffled(shots: Shots, guess: float) -> Check | None:
    """The right answer to another row is wrong here, but for chance."""
    tried = shots.of("shuffled")
    if not tried:
        return None
    rate = max(guess, sum(shot.right for shot in tried) / len(tried), GUESS)
    most = by_chance(len(tried), rate, ALPHA)
    passed = [shot for shot in tried if shot.mark.score == 1.0]
    figures = {"rows": len(tried), "share": _share(passed, tried), "chance": round(rate, 4), "at_most": most}
    if all(shot.right for shot in tried):
        return check("shuffled", True, "All rows have the same answer, so shuffling answers says nothing.", figures)
    told = f"Other rows' right answers score 1 on {len(passed)} of {len(tried)} rows"
    expected = f"{rate:.0%} or so is chance, more than {most} is not"
    if len(passed) <= most:
        return check("shuffled", True, f"{told} ({expected}).", figures)
    wrong = next((shot for shot in passed if not shot.right), passed[0])
    words = f"{told}; {expected}. The scorer hardly looks at the expected answer."
    return check("shuffled", False, words, figures, _example(wrong))


def _panel(shots: Shots, threshold: float, guess: float) -> Check:
    """No answer that knows nothing is rewarded."""
    figures: dict[str, Any] = {}
    failed: list[tuple[str, Shot, int, int]] = []
    for dummy in DUMMIES:
        tried = shots.of("dummy", dummy.name)
        counted = [shot for shot in tried if not shot.right]
        rewarded = [shot for shot in counted if (shot.mark.score or 0.0) >= threshold and shot.mark.score is not None]
        total = sum(shot.mark.score or 0.0 for shot in counted)
        rate = max(guess, GUESS) if dummy.may_guess else 0.0
        most = by_chance(len(counted), rate, ALPHA)
        figures[dummy.name] = {
            "rows": len(tried),
            "passed": sum((shot.mark.score or 0.0) >= threshold for shot in tried if shot.mark.score is not None),
            "right": len(tried) - len(counted),
            "unscored": sum(shot.mark.score is None for shot in tried),
            "at_most": most + len(tried) - len(counted),
        }
        credited = [shot for shot in counted if (shot.mark.score or 0.0) > 0]
        if len(rewarded) > most:
            failed.append((dummy.name, rewarded[0], len(rewarded), len(counted)))
        elif counted and credited and total > len(counted) * CREDIT + most:
            failed.append((dummy.name, credited[0], len(credited), len(counted)))
    if not failed:
        crashed = sum(one["unscored"] for one in figures.values())
        aside = f" On {crashed} of these outputs score() fails: such an answer is kept as unscored." if crashed else ""
        return check("null_panel", True, f"None of {len(DUMMIES)} empty answers is rewarded.{aside}", figures)
    name, shot, count, rows = failed[0]
    more = f" So are {len(failed) - 1} other empty answers." if len(failed) > 1 else ""
    words = f"The answer “{name}” is rewarded on {count} of {rows} rows, such as task {shot.row.task_id}.{more}"
    return check("null_panel", False, words, figures, _example(shot))


def _reading(shots: Shots) -> Check | None:
    """Where it reads an answer out of words, it reads the one that the words settle on."""
    tried = {name: {shot.row.index: shot for shot in shots.of("spoken", name) if shot.mark.error != JUDGE}
             for name in (spoken.PLAIN, spoken.SETTLED)}  # fmt: skip
    plain, settled = tried[spoken.PLAIN], tried[spoken.SETTLED]
    if not plain:
        return None
    read = [at for at, shot in plain.items() if shot.mark.score == 1.0]
    missed = [at for at in read if settled[at].mark.score != 1.0]
    figures = {"rows": len(plain), "read": len(read), "misread": len(missed)}
    if read and len(missed) > len(read) / 2:
        shot = settled[missed[0]]
        words = (
            f"It reads an answer out of words and takes the wrong one: where another candidate stands before it, the "
            f"right answer is missed on {len(missed)} of {len(read)} rows, such as task {shot.row.task_id}."
        )
        return check("reading", False, words, figures, _example(shot))
    if len(read) < len(plain) / 2:
        bare = "Beware: the right answer in a sentence scores 0"
        words = f"{bare} on {len(plain) - len(read)} of {len(plain)} rows, so the prompt must ask for the bare form."
        return check("reading", True, words, figures)
    beware = "Beware: " if len(missed) > by_chance(len(read), GUESS, ALPHA) else ""
    words = f"{beware}Behind other candidates it is read on {len(read) - len(missed)} of {len(read)} rows."
    return check("reading", True, words, figures, _example(settled[missed[0]]) if beware else None)


def _line_end(shots: Shots) -> Check | None:
    """A bare answer is read, but not before a line end, with which models often close: told, since a prompt may forbid
    it."""
    bare = {shot.row.index for shot in shots.of("gold") if shot.name in BARE and shot.mark.score == 1.0}
    tried = [shot for shot in shots.of("spoken", spoken.ENDED) if shot.row.index in bare]
    missed = [shot for shot in tried if shot.mark.score != 1.0 and shot.mark.error != JUDGE]
    if not missed:
        return None
    words = (
        f"Beware: the right answer with a line end behind it does not score 1 on {len(missed)} of {len(tried)} rows. "
        "Compare output.strip(), or read the output with a reader of bench_task."
    )
    return check("line_end", True, words, {"rows": len(tried), "missed": len(missed)}, _example(missed[0]))


def _near_miss(shots: Shots) -> Check | None:
    """A wrong answer that holds the right one is wrong."""
    tried = [shot for shot in shots.of("miss") if shot.mark.error != JUDGE]
    names = list(dict.fromkeys(shot.name for shot in tried))
    figures = {}
    worst: list[Shot] = []
    for name in names:
        of = [shot for shot in tried if shot.name == name]
        passed = [shot for shot in of if shot.mark.score == 1.0]
        figures[name] = {"rows": len(of), "passed": len(passed)}
        if len(passed) > by_chance(len(of), GUESS, ALPHA) and len(passed) > len(worst):
            worst = passed
    if not tried:
        return None
    if not worst:
        return check("near_miss", True, "Wrong answers that hold the right one score 0.", figures)
    words = (
        f"A wrong answer that holds the right one ({worst[0].name}) scores 1 on {len(worst)} of "
        f"{figures[worst[0].name]['rows']} rows, such as task {worst[0].row.task_id}."
    )
    return check("near_miss", False, words, figures, _example(worst[0]))


def _same(shots: Shots) -> Check:
    """The same output scores the same."""
    count = shots.same + len(shots.differed)
    if not shots.differed:
        return check("same_twice", True, f"{count} outputs scored twice, and alike.", {"outputs": count})
    shot, mark = shots.differed[0]
    words = (
        f"{len(shots.differed)} of {count} outputs score differently the second time. On task {shot.row.task_id} one "
        f"{_told(shot.mark)}, then {_told(mark)}."
    )
    return check("same_twice", False, words, {"outputs": count}, _example(shot))


def _alive(shots: Shots) -> Check | None:
    """A scorer that fails on everything that it is given has proven nothing."""
    judged = [shot for shot in shots.all if shot.mark.error != JUDGE]
    if not judged or any(shot.mark.score is not None for shot in judged):
        return None
    return check("answers", False, f"score() fails on every output. One {_told(judged[0].mark)}.", None,
                 _example(judged[0]))  # fmt: skip


def _key(shots: Shots, guess: float) -> Check | None:
    """A lopsided answer key is no fault of the scorer; whoever reads the rate should know of it."""
    for dummy in DUMMIES:
        tried = shots.of("dummy", dummy.name)
        right = [shot for shot in tried if shot.right and shot.mark.score == 1.0]
        if len(right) > by_chance(len(tried), max(guess, GUESS), ALPHA) and not any(
            s.row.gold and s.row.gold.anything for s in right
        ):
            words = (
                f"Beware of the answer key: “{dummy.name}” is the right answer on {len(right)} of {len(tried)} rows, "
                "so whoever always says it scores that."
            )
            return check("answer_key", True, words, {"right": len(right), "rows": len(tried)})
    return None


def _chance(shots: Shots) -> float:
    """The mean over rows of one in so many choices; 0 for rows without."""
    rows = {shot.row.index: 1 / shot.row.options if shot.row.options else 0.0 for shot in shots.all}
    return sum(rows.values()) / len(rows) if rows else 0.0


def _share(some: Sequence[Shot], of: Sequence[Shot]) -> float:
    return round(len(some) / len(of), 4) if of else 0.0


def _told(mark: Mark) -> str:
    """A mark as the end of a sentence that begins with an output."""
    return f"scores {mark.score:g}" if mark.score is not None else f"is not scored ({mark.error[:SHOWN]})"


def _example(shot: Shot) -> dict[str, Any]:
    text = shot.output if isinstance(shot.output, str) else json.dumps(shot.output, ensure_ascii=False)
    found = {"task_id": shot.row.task_id, "output": text[:SHOWN], "form": shot.name, "score": shot.mark.score}
    if shot.mark.error or shot.mark.explanation:
        found["why"] = (shot.mark.error or shot.mark.explanation)[:500]
    return found
