"""What people call the columns of benchmarks. The first name that a data set has, and whose values fit, is taken."""

import re
from collections.abc import Iterable, Sequence

QUESTION = (
    "question", "prompt", "problem", "query", "instruction", "questionstem", "questionconcat", "input", "inputs", "ctx",
    "goal", "stem", "task", "utterance", "sentence", "text", "source", "body", "content", "statement", "description",
    "codeprompt", "completeprompt", "hypothesis", "context", "messages",
)  # fmt: skip
# What a question is about; it goes before it.
CONTEXT = (
    "context", "passage", "paragraph", "article", "document", "story", "narrative", "premise", "background", "table",
    "sentence1", "sentence2", "hypothesis", "contexts", "dialogue", "code", "body", "florespassage", "input",
)  # fmt: skip
CHOICES = (
    "choices",
    "options",
    "endings",
    "candidates",
    "mc1targets",
    "answerchoices",
    "multiplechoicetargets",
    "alternatives",
)
EXPECTED = (
    "answerkey", "answeridx", "answerindex", "expectedindex", "correctindex", "correctanswernum", "correctoption",
    "correctanswer", "answernumber", "finalanswer", "groundtruth", "answer", "expected", "target", "targets", "gold",
    "label", "labels", "cop", "correct", "answers", "correctanswers", "bestanswer", "possibleanswers", "solution",
    "finaldecision", "reference", "references", "completion", "output", "response", "ideal", "expectedoutput",
)  # fmt: skip
FUNCTIONS = ("functions", "function", "tools", "apis", "tooldefinitions")
CALLS = (
    "groundtruth", "answers", "answer", "expected", "calls", "toolcalls", "expectedcalls", "possibleanswer", "target",
)  # fmt: skip
TESTS = (
    "test", "tests", "testlist", "testcode", "unittests", "testcases", "testcase", "asserts", "challengetestlist",
)  # fmt: skip
SOLUTIONS = ("canonicalsolution", "referencesolution", "solution", "code")  # programs that pass the tests
ENTRY_POINT = ("entrypoint", "functionname", "fnname", "methodname")
TURNS = ("turns", "messages", "conversation", "conversations", "dialog", "dialogue", "chat")
IDS = (
    "taskid", "id", "questionid", "qid", "uid", "uniqueid", "sampleid", "queryid", "recordid", "sourceid", "problemid",
    "exampleid", "idx", "ind", "index", "guid", "hash",
)  # fmt: skip
RIGHT = ("correctanswer", "rightanswer", "bestanswer", "correct", "answer", "correctchoice")
WRONG = re.compile(r"(incorrect|wrong|distractor)(answers?|choices?|options?)?\d*$")
# A label that is a bare number says nothing unless somebody names it.
BARE = ("label", "labels", "class", "gold", "target", "targets")
_NUMBERED = re.compile(r"(.*?)[ _-]?([a-j]|\d{1,2})$", re.IGNORECASE)
_CHOICE_STEMS = frozenset((
    "", "option", "options", "op", "choice", "ending", "answer", "ans", "sol", "mcanswer", "candidate", "opt",
))  # fmt: skip


def folded(name: str) -> str:
    """Case, spaces, dots, dashes and underscores don't count."""
    return re.sub(r"[^a-z0-9]", "", name.casefold())


def first(wanted: Sequence[str], columns: Iterable[str]) -> list[str]:
    """The columns that have one of these names, in the order of the names."""
    known = {folded(column): column for column in reversed(list(columns))}
    return [known[name] for name in wanted if name in known]


def series(columns: Iterable[str]) -> list[str]:
    """Columns that hold a choice each: A to D, option_1 to option_4, ending0 …; the longest run of them, in order."""
    stems: dict[str, dict[int, str]] = {}
    for column in columns:
        found = _NUMBERED.fullmatch(column)
        if found and folded(found[1]) in _CHOICE_STEMS:
            sign = found[2].lower()
            kind = f"{folded(found[1])}|{'n' if sign.isdigit() else 'l'}"
            stems.setdefault(kind, {})[int(sign) if sign.isdigit() else ord(sign) - ord("a")] = column
    best: list[str] = []
    for members in stems.values():
        run = _run(members)
        if len(run) > max(1, len(best)):
            best = run
    return best


def _run(members: dict[int, str]) -> list[str]:
    """From the lowest number (0 or 1) on without a gap."""
    start = min(members)
    if start > 1:
        return []
    found: list[str] = []
    while start + len(found) in members:
        found.append(members[start + len(found)])
    return found
