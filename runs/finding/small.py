"""Words that ask for a small run without a number: "quick check", "smoke test", "just try it"."""

import re
from dataclasses import replace

from runs.finding.readings import Problem, Reading
from runs.finding.words import distance

SMALL = 20  # tasks: enough to see that everything works, too few to compare models by
_I = re.IGNORECASE
_QUICK = r"(?:quick|short|small|tiny|smoke|sanity|trial|dry)"
_CHECKS = ("check", "test", "checks", "tests", "tryout", "trial", "run", "spin", "look", "testrun")
_ENGLISH = re.compile(rf"\b{_QUICK}[ -](?P<what>[a-z]+)\b(?! (?:set|split|subset|data))", _I)
_OTHERS = re.compile(
    r"\b(?:smoketest\w*|sanitycheck\w*|quickcheck|"
    r"(?:just|only|let me|let's|i want to) (?:quickly )?try(?:ing)? (?:it|this|that)(?: out)?|"
    r"try it out|give it a (?:try|whirl|spin)|"
    r"(?:schnelle[rn]?|kurze[rn]?|kleine[rn]?) (?:test|check|versuch|probelauf|testlauf)|"
    r"(?:nur )?mal (?:kurz )?(?:ausprobieren|testen)|"
    r"schnelltest|kurztest|probelauf|"
    r"(?:petit )?(?:essai|test) rapide|petit (?:essai|test)|(?:juste|seulement) (?:pour )?essayer|"
    r"(?:prueba|test) rápid[ao]|pequeña prueba|solo (?:para )?probar|"
    r"(?:prova|test) (?:veloce|rapid[ao])|(?:teste|verificação) rápid[ao]|"
    r"быстр(?:ая|ую|ый) (?:проверк[ау]|тест))(?!\w)|"
    r"快速(?:测试|測試|检查|檢查)|冒烟测试|試しに|簡単なテスト",
    _I,
)
_ALL = re.compile(
    r"\b(?:all|full|fully|whole|entire|complete(?:ly)?|every|alle|ganze[nrs]?|komplett\w*|vollständig\w*|tout(?:es)?|"
    r"complète?|tod[oa]s?|complet[oa]|tutt[oaie]|весь|все)\b|全部|所有|すべて",
    _I,
)


def said(text: str) -> tuple[str, tuple[int, int]] | None:
    """The first such words and where they are; None without any."""
    found = [(one.group(), one.span()) for one in _OTHERS.finditer(text)]
    for one in _ENGLISH.finditer(text):
        what = one["what"].lower()
        if what in _CHECKS or any(len(what) > 3 and len(word) > 3 and distance(what, word) == 1 for word in _CHECKS):
            found.append((one.group(), one.span()))
    return min(found, key=lambda one: one[1][0]) if found else None


def limited(made: Reading, words: str, text: str) -> Reading:
    """The reading with a small number of tasks, or the question where the text wants all of them too.

    ``made`` has no limit yet.
    """
    if made.problem is not None:
        return made
    if _ALL.search(text):
        choices = (
            {"id": f"limit:{SMALL}", "name": f"the first {SMALL} samples", "reason": f"“{words}”"},
            {"id": "limit:all", "name": "all samples", "reason": "no limit"},
        )
        question = f"{words!r} is the first {SMALL} samples here, and the request says all as well. Which is meant?"
        return replace(made, problem=Problem("unclear_limit", question, choices))
    note = (
        f"“{words}” is read as the first {SMALL} tasks: a score of these is not the benchmark's. Say a number of "
        "samples for more."
    )
    return replace(made, limit=SMALL, notes=(*made.notes, note))
