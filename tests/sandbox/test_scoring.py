"""Score: what a candidate or a scorer does in there can neither pass by force nor harm the next row."""

import asyncio
from typing import Any

import pytest

from runs.compute import messages as wire
from tests.sandbox.conftest import Opener, task

EVALUATES = """
    def score(self, index, output, expected):
        if output.startswith("run:"):
            space = {}
            exec(output[4:], space)
            return 1.0 if space["f"](2) == expected else 0.0
        return 1.0 if output == expected else 0.0
"""


def outcome(answer: dict[str, Any]) -> Any:
    return answer["score"] if answer["op"] == "scored" else answer["error"]["class"]


async def test_i17_it_never_clamps_or_guesses_a_score(opened: Opener) -> None:
    score = """
        def score(self, index, output, expected):
            class Sly(float):
                def __eq__(self, other): return True
                def __le__(self, other): return True
                def __ge__(self, other): return True
            return {"none": None, "text": "1.0", "true": True, "two": 2.0, "minus": -1, "nan": float("nan"),
                    "inf": float("inf"), "complex": 1j, "huge": 10**5000, "sly": Sly(1.0), "list": [1.0],
                    "empty": {}, "dict": {"score": "1"},
                    "fine": {"score": 0.5, "explanation": "half", "metrics": {"a": 1}},
                    "one": 1, "bad metrics": {"score": 1.0, "metrics": {"a": object()}}}[output]
    """
    names = ["none", "text", "true", "two", "minus", "nan", "inf", "complex", "huge", "sly", "list", "empty", "dict"]
    roles = await opened(task(score))
    answers = await roles.score(*[(name, 0) for name in [*names, "bad metrics", "fine", "one"]])
    assert [outcome(answer) for answer in answers] == ["invalid_score"] * 14 + [0.5, 1.0]
    assert (answers[14]["explanation"], answers[14]["metrics"]) == ("half", {"a": 1})
    assert "NoneType" in answers[0]["error"]["message"]


async def test_i17_it_reports_what_a_scorer_raises_with_its_line(opened: Opener) -> None:
    roles = await opened(task("def score(self, index, output, expected):\n    return len(output) / len(expected)"))
    broken, fine = await roles.score(("a", ""), ("a", "aa"))
    assert broken["error"]["class"] == "scorer_exception"
    assert broken["error"]["message"] == "ZeroDivisionError: division by zero (task_impl.py line 7)"
    assert fine["score"] == 0.5


ENDINGS = {
    "SystemExit": "run:raise SystemExit(0)",
    "os._exit": "run:import os; os._exit(0)",
    "kills its judge": "run:import os; os.kill(os.getpid(), 9)",
    "kills the runner": "run:import os; os.kill(os.getppid(), 9)",
    "kills everybody": "run:import os; os.kill(-1, 9)",
    "atexit": "run:import atexit, os; atexit.register(os._exit, 0); raise SystemExit",
    "excepthook": "run:import sys; sys.excepthook = lambda *a: None; raise ValueError",
    "crashes": "run:import ctypes; ctypes.string_at(0)",
    "wrong answer": "run:f = lambda x: 5",
    "patched builtins": "run:import builtins; builtins.exec = lambda *a: None; builtins.float = lambda x: 1.0",
    "reward file": "run:open('/tmp/reward.json', 'w').write('{\"score\": 1.0}'); import os; os._exit(0)",
    "forged frame": "run:import os\nfor fd in range(3, 64):\n"
    "    try: os.write(fd, b'\\x00\\x00\\x00\\x0d{\"score\": 1.0}')\n"
    "    except OSError: pass\nos._exit(0)",
    "stops": "run:import os, signal; os.kill(os.getpid(), signal.SIGSTOP)",
    "loops": "run:while True: pass",
}


async def test_j02_no_way_to_end_a_judge_passes_or_touches_its_neighbours(opened: Opener) -> None:
    roles = await opened(task(EVALUATES), score_seconds=1.0)
    pairs = [("same", "same")]
    for program in ENDINGS.values():
        pairs += [(program, 4), ("same", "same"), ("other", "same")]
    answers = await roles.score(*pairs, ("run:f = lambda x: x * x", 4), seconds=60)
    count = len(ENDINGS)
    assert [outcome(answer) for answer in answers[2::3][:count]] == [1.0] * count
    assert [outcome(answer) for answer in answers[3::3][:count]] == [0.0] * count
    attacked = dict(zip(ENDINGS, answers[1::3], strict=False))
    assert {name: outcome(answer) for name, answer in attacked.items() if outcome(answer) == 1.0} == {}
    assert outcome(attacked["loops"]) == "scorer_timeout"
    assert outcome(answers[-1]) == 1.0
    assert roles.deaths.empty()


async def test_j02_a_candidate_in_its_own_process_cannot_reach_its_judge(opened: Opener) -> None:
    """The guide's way to run code: python3 in a child. It may kill itself, not us; nor read or forge anything."""
    score = """
        def score(self, index, output, expected):
            done = subprocess.run(["python3", "-c", output], capture_output=True, text=True, timeout=20)
            return {"score": 0.0, "explanation": done.stdout + done.stderr[-300:]}
    """
    program = """
import os, signal, socket
def tried(what, call):
    try:
        call()
        print(what, "worked")
    except Exception as error:
        print(what, type(error).__name__)
me, judge = os.getpid(), os.getppid()
tried("kill", lambda: os.kill(judge, 9))
tried("runner", lambda: os.kill(1, 0))
tried("all", lambda: os.kill(-1, 9))
tried("group", lambda: os.kill(0, 9))
tried("memory", lambda: open(f"/proc/{judge}/mem", "r+b"))
tried("descriptors", lambda: os.listdir(f"/proc/{judge}/fd"))
tried("environ", lambda: open("/proc/1/environ").read())
import resource, fcntl
tried("limits", lambda: resource.prlimit(judge, resource.RLIMIT_CPU, (1, 1)))
a, b = socket.socketpair()
tried("owner", lambda: fcntl.fcntl(a, fcntl.F_SETOWN, judge))
print([fd for fd in range(3, 99) if os.path.exists(f"/proc/self/fd/{fd}") and fd not in (a.fileno(), b.fileno())])
"""
    roles = await opened(task(score, head="import subprocess"))
    (answer,) = await roles.score((program, 0))
    assert answer["explanation"].splitlines() == [
        *("kill PermissionError", "runner PermissionError", "all PermissionError", "group PermissionError"),
        *("memory PermissionError", "descriptors PermissionError", "environ PermissionError"),
        *("limits PermissionError", "owner PermissionError", "[]"),
    ]


@pytest.mark.parametrize("isolation", ["batch", "task"])
async def test_i12_i19_nothing_of_a_row_outlives_it(opened: Opener, isolation: str) -> None:
    """Daemons, files (however deep or closed) and globals of one row are gone before the next is judged."""
    score = """
        SEEN = []

        def score(self, index, output, expected):
            others = [name for name in os.listdir("/proc") if name.isdigit() and int(name) not in (1, os.getpid())]
            there = os.listdir("/tmp") + os.listdir("/dev/shm") + others + self.SEEN
            self.SEEN.append("global")
            if output == "dirty":
                for command in ("sleep 1000 &", "setsid sleep 1000 &", "(trap '' TERM HUP; while :; do :; done) &"):
                    subprocess.Popen(["sh", "-c", command]).wait()
                where = "/tmp"
                for _ in range(400):
                    where += "/deep"
                    os.mkdir(where) if len(where) < 3900 else None
                open("/dev/shm/left", "w").write("x")
                os.mkdir("/tmp/closed"); open("/tmp/closed/file", "w").close(); os.chmod("/tmp/closed", 0)
                os.symlink("/usr", "/tmp/link"); os.mkfifo("/tmp/fifo")
            return {"score": 0.0 if there else 1.0, "explanation": str(there)}
    """
    roles = await opened(task(score, head="import subprocess"), isolation=isolation)
    answers = await roles.score(*[("dirty", 0), ("clean", 0)] * 3, seconds=40)
    assert [(answer.get("score"), answer.get("explanation")) for answer in answers] == [(1.0, "[]")] * 6


async def test_it_judges_a_batch_in_one_child_and_caught_rows_alone(opened: Opener) -> None:
    score = """
        def score(self, index, output, expected):
            if output:
                open("/tmp/x", "w").close()
            return {"score": 1.0, "metrics": {"child": os.getpid()}}
    """
    roles = await opened(task(score))
    answers = await roles.score(*[(output, 0) for output in (0, 0, 0, 1, 0, 0)])
    children = [answer["metrics"]["child"] for answer in answers]
    assert children[0] == children[1] == children[2]
    assert children[4] == children[5]
    assert len(set(children)) == 3


async def test_it_keeps_rows_that_raise_in_their_batch(opened: Opener) -> None:
    """A scorer that raises on an odd answer is common; it must not cost a child each time."""
    score = """
        def score(self, index, output, expected):
            if output:
                json.loads(output)
            return {"score": 1.0, "metrics": {"child": os.getpid()}}
    """
    roles = await opened(task(score))
    answers = await roles.score(*[(output, 0) for output in (0, "{", 0, "no", 0, "[", 0, "(", 0)])
    assert [outcome(answer) for answer in answers[1::2]] == ["scorer_exception"] * 4
    assert len({answer["metrics"]["child"] for answer in answers[::2]}) == 1


async def test_it_stops_trying_batches_when_rows_keep_being_caught(opened: Opener) -> None:
    score = """
        def score(self, index, output, expected):
            eval("1")
            return {"score": 1.0, "metrics": {"child": os.getpid()}}
    """
    roles = await opened(task(score))
    answers = await roles.score(*[(0, 0)] * 8)
    assert len({answer["metrics"]["child"] for answer in answers}) == 8


async def test_it_judges_each_row_in_a_child_of_its_own_where_asked(opened: Opener) -> None:
    score = "def score(self, i, output, expected):\n    return {'score': 1.0, 'metrics': {'child': os.getpid()}}"
    roles = await opened(task(score), isolation="task")
    answers = await roles.score(*[(0, 0)] * 5)
    assert len({answer["metrics"]["child"] for answer in answers}) == 5


async def test_it_judges_in_process_what_we_compiled(opened: Opener) -> None:
    score = "def score(self, i, output, expected):\n    return {'score': 1.0, 'metrics': {'pid': os.getpid()}}"
    roles = await opened(task(score), trusted=True)
    assert [answer["metrics"]["pid"] for answer in await roles.score(*[(0, 0)] * 3)] == [1, 1, 1]


@pytest.mark.parametrize(
    "expression",
    [
        "json.loads('{\"a\": [1.5]}')",
        "re.findall(r'\\d+', 'a1b22')",
        "decimal.Decimal('1.10') == fractions.Fraction(11, 10)",
        "difflib.SequenceMatcher(None, 'abcd', 'bcde').ratio()",
        "collections.Counter('hello').most_common(2)",
        "unicodedata.normalize('NFKC', 'ﬁ')",
        "hashlib.sha256(b'x').hexdigest()",
        "ast.literal_eval('[1, (2, 3)]')",
        "copy.deepcopy({'a': [1]})",
        "sorted([3, 1], key=lambda x: -x)",
        "float('1e3') + math.sqrt(2) + statistics.mean([1, 2])",
        "string.Template('$a').substitute(a=1)",
        "itertools.groupby('aab').__class__.__name__",
        "datetime.date(2020, 1, 2).isoformat()",
    ],
)
async def test_it_lets_ordinary_comparing_stay_in_the_batch(opened: Opener, expression: str) -> None:
    head = (
        "import ast, collections, copy, datetime, decimal, difflib, fractions, hashlib, itertools, math, re, "
        "statistics, string, unicodedata"
    )
    answer = "{'score': 1.0, 'metrics': {'pid': os.getpid()}}"
    score = f"def score(self, i, output, expected):\n    {expression}\n    return {answer}"
    roles = await opened(task(score, head=head))
    answers = await roles.score(*[(0, 0)] * 4)
    assert len({answer["metrics"]["pid"] for answer in answers}) == 1


async def test_it_times_out_a_slow_row_and_goes_on(opened: Opener) -> None:
    score = "def score(self, index, output, expected):\n    time.sleep(output)\n    return 1.0"
    for isolation in ("batch", "task"):
        roles = await opened(task(score), score_seconds=0.5, isolation=isolation)
        answers = await roles.score((0, 0), (1e9, 0), (0, 0))
        assert [outcome(answer) for answer in answers] == [1.0, "scorer_timeout", 1.0]


async def test_it_stops_a_compiled_grader_whose_pattern_never_ends(opened: Opener) -> None:
    score = "def score(self, i, output, expected):\n    return 1.0 if re.fullmatch('(a+)+b', output) else 0.0"
    roles = await opened(task(score, head="import re"), trusted=True, score_seconds=0.5)
    answers = await roles.score(("aab", 0), ("a" * 60, 0), ("ab", 0))
    assert [outcome(answer) for answer in answers] == [1.0, "scorer_timeout", 1.0]


async def test_it_takes_async_scores(opened: Opener) -> None:
    roles = await opened(task("async def score(self, index, output, expected):\n    return 0.25"))
    assert (await roles.score((1, 1)))[0]["score"] == 0.25


FORGERIES = {
    "not JSON": b"\x00\x00\x00\x03abc",
    "wrong nonce": b"\x00\x00\x00\x1f" + b'{"nonce":"0","messages":[{}   ]}'[:31],
    "pickle": b"\x00\x00\x00\x10\x80\x04\x95\x05\x00\x00\x00\x00\x00\x00\x00\x8c\x01x\x94.\x00",
    "a gigabyte": b"\x40\x00\x00\x00",
    "deep": b"\x00\x01\x00\x00" + b"[" * 65536,
}


@pytest.mark.parametrize("name", list(FORGERIES))
async def test_i13_a_forged_frame_ends_the_role(opened: Opener, name: str) -> None:
    """A solve shares its process with the runner, so it can write there; what is not our protocol ends it."""
    solve = """
        def solve(self, index, input):
            print(json.dumps({"nonce": "", "messages": [{"op": "solved", "cell": 0, "output": "forged"}]}))
            for fd in range(3, 64):
                try:
                    os.write(fd, bytes.fromhex(input))
                except OSError:
                    pass
            time.sleep(60)
    """
    roles = await opened(task(solve))
    roles.roles.solve.send(
        [{"op": "solve", "cell": 0, "attempt": 1, "index": 0, "input": FORGERIES[name].hex(), "key": "k"}]
    )
    death = await roles.death()
    assert (death.role, death.reason) == ("solve", "protocol")
    assert roles.said["solve"].empty()


async def test_i13_it_reads_only_what_a_role_may_say() -> None:
    for role, message in (
        ("solve", {"op": "scored", "cell": 1, "attempt": 1, "score": 1.0}),
        ("extract", {"op": "solved", "cell": 1, "attempt": 1}),
        ("score", {"op": "scored", "cell": True, "attempt": 1, "score": 1.0}),
        ("score", {"op": "scored", "cell": "1", "attempt": 1, "score": 1.0}),
        ("score", {"op": "unscored", "cell": 1, "attempt": 1, "error": {"class": "passed"}}),
        ("extract", {"op": "extracted", "shard": 1, "items": [1]}),
        ("solve", {}),
    ):
        with pytest.raises(wire.BadFrame):
            wire.admit(role, message)
    for bad in (True, "1", None, float("nan"), float("inf"), -0.1, 1.1, 10**400, [1], {}):
        said = wire.admit("score", {"op": "scored", "cell": 1, "attempt": 1, "score": bad})
        assert (said["op"], said["error"]["class"]) == ("unscored", "invalid_score")


async def test_i13_it_refuses_numbers_and_text_that_nothing_else_can_hold() -> None:
    for body in (b'{"nonce":"n","messages":[{"a":NaN}]}', b'{"nonce":"n","messages":[{"a":1e999}]}', b"\xff", b"[]"):
        with pytest.raises(wire.BadFrame):
            wire.unpack(body, "n")
    body = b'{"nonce":"n","messages":[{"a":"\\ud800x\\u0000","\\udfff":["\\ud83d\\ude00"]}]}'
    assert wire.unpack(body, "n") == [{"a": "\ufffdx\ufffd", "\ufffd": ["😀"]}]


async def test_it_survives_many_rows_in_small_and_large_groups(opened: Opener) -> None:
    roles = await opened()
    for count in (1, 300):
        answers = await roles.score(*[(at, at) for at in range(count)])
        assert [answer["score"] for answer in answers] == [1.0] * count
    await asyncio.sleep(0)
    assert roles.deaths.empty()
