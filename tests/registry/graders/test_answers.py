"""Answers as models write them (``answers/*.jsonl``), and what graders and scorers must read from each."""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from registry.graders import validate_grader
from registry.graders.compiling import kit
from runs.compute import runtime

FOLDER = Path(__file__).parent / "answers"
# Runs as `python -I -S` in the runner's folder: the readers need nothing but the standard library.
READ = """
import json, sys
sys.path.insert(0, sys.argv[1])
import bench_task
for line in sys.stdin:
    name, arguments = json.loads(line)
    print(json.dumps(getattr(bench_task, name)(*arguments)))
"""
Case = dict[str, Any]
# The threads in which users told of right answers that were read wrongly, and the guide's own scorer.
COMPLAINTS = {
    "guide 8.4", "openai/simple-evals#33", "groq/openbench#348", "TIGER-AI-Lab/MMLU-Pro#7", "openai/frontier-evals#125",
    "vllm-project/tpu-inference#3518", "EleutherAI/lm-evaluation-harness#1204", "EleutherAI/lm-evaluation-harness#2237",
    "EleutherAI/lm-evaluation-harness#3214", "EleutherAI/lm-evaluation-harness#2552",
    "EleutherAI/lm-evaluation-harness#3382", "EleutherAI/lm-evaluation-harness#3216",
    "EleutherAI/lm-evaluation-harness#3403", "EleutherAI/lm-evaluation-harness#3700",
    "EleutherAI/lm-evaluation-harness#3145", "allenai/olmo-eval#399", "tenstorrent/tt-inference-server#159",
    "sgl-project/sglang-jax#1409", "sgl-project/sglang#29933", "sgl-project/sglang#23864",
}  # fmt: skip


def cases(name: str) -> list[Case]:
    return [json.loads(line) for line in (FOLDER / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]


@pytest.fixture(scope="module")
def runner(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runner")
    runtime.build_runner(folder)
    return folder


def read(runner: Path, asked: list[tuple[str, list[Any]]]) -> list[Any]:
    lines = "".join(json.dumps(one) + "\n" for one in asked)
    command = [sys.executable, "-I", "-S", "-X", "utf8", "-c", READ, str(runner)]
    done = subprocess.run(command, input=lines.encode(), capture_output=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return [json.loads(line) for line in done.stdout.splitlines()]


def arguments(name: str, case: Case) -> list[Any]:
    more = {"choice": ["choices"], "number": ["decimal"]}.get(name, [])
    return [case["output"], *(case[key] for key in more if key in case)]


READERS = {
    "choice": "read_choice", "number": "read_number", "json": "read_json", "calls": "read_calls", "code": "read_code",
    "reasoning": "strip_reasoning",
}  # fmt: skip


@pytest.mark.parametrize("name", READERS)
def test_it_reads_what_was_meant(runner: Path, name: str) -> None:
    given = cases(name)
    found = read(runner, [(READERS[name], arguments(name, case)) for case in given])
    amiss = [
        (case["output"], got, case["read"])
        for case, got in zip(given, found, strict=True)
        if got != case["read"] or type(got) is not type(case["read"])
    ]
    assert not amiss


def test_it_covers_four_hundred_answers_and_every_complaint() -> None:
    every = [case for name in READERS for case in cases(name)]
    assert len(every) >= 400
    told = Counter(case["thread"] for case in every if "thread" in case)
    assert set(told) >= COMPLAINTS
    letters = {case["read"] for case in cases("choice") if case["choices"] == 10}
    assert letters >= set("FGHIJ")


@pytest.mark.parametrize("thread", sorted(COMPLAINTS))
def test_it_reads_right_what_users_complained_of(runner: Path, thread: str) -> None:
    told = [(name, case) for name in READERS for case in cases(name) if case.get("thread") == thread]
    assert told
    found = read(runner, [(READERS[name], arguments(name, case)) for name, case in told])
    assert [(case["output"], got) for (_, case), got in zip(told, found, strict=True)] == [
        (case["output"], case["read"]) for _, case in told
    ]


@pytest.mark.parametrize("case", cases("choice"), ids=lambda case: repr(case["output"])[:40])
def test_a_grader_reads_the_same_letter(case: Case) -> None:
    """The same logic: a grader's verdict names what the reader reads."""
    count = case["choices"]
    texts = [f"text number {at}" for at in range(count)] if isinstance(count, int) else count
    told = graded({"kind": "choice"}, case["output"], {"answer": case["read"] or "A", "choices": texts})
    assert told["metrics"].get("extracted") == case["read"] if case["read"] else told["score"] == 0.0
    assert told["score"] == (1.0 if case["read"] else 0.0)


@pytest.mark.parametrize("case", cases("number"), ids=lambda case: repr(case["output"])[:40])
def test_a_grader_reads_the_same_number(case: Case) -> None:
    want = case["read"] if case["read"] is not None else 12345.678
    told = graded({"kind": "numeric", "decimal": case.get("decimal", ".")}, case["output"], want)
    assert told["score"] == (0.0 if case["read"] is None else 1.0), told
    if case["read"] is None:
        assert told["metrics"]["class"] in {"no_answer", "format_miss", "refused"}


def graded(grader: Case, output: Any, expected: Any) -> Case:
    found: Case = kit(validate_grader(grader))["grade"](output, expected)
    return found


NOTHING = ["", "   ", "{}", "[]", ":", "I cannot", "Thought process:", "I'm sorry, but I can't help with that.",
           "<think>The answer is B", "<think>so long", None, {}, []]  # fmt: skip


def test_j07_nothing_is_read_from_nothing(runner: Path) -> None:
    asked = [(name, [output, 4]) for output in NOTHING for name in ("read_choice", "read_choices")]
    asked += [(name, [output]) for output in NOTHING for name in ("read_number", "read_code")]
    assert read(runner, asked) == [None] * len(asked)
    calls = read(runner, [("read_calls", [output]) for output in NOTHING])
    assert all(not found for found in calls)


@pytest.mark.parametrize(
    ("output", "letters"),
    [("A, C", ["A", "C"]), ("Answer: A, C", ["A", "C"]), ("The answer is B and D.", ["B", "D"]), ("AC", ["A", "C"]),
     ("B", ["B"]), ('{"answers": ["A", "D"]}', ["A", "D"]), ("Answer: A, C\nNo.\nAnswer: B, D", ["B", "D"]),
     ("(A), (B)", ["A", "B"]), ("A, F", None), ("none", None), ("<think>A, B", None)],
)  # fmt: skip
def test_it_reads_several_letters(runner: Path, output: str, letters: list[str] | None) -> None:
    assert read(runner, [("read_choices", [output, 4])]) == [letters]


def test_it_compares_what_was_read(runner: Path) -> None:
    right = [
        ("choice_letter", ["b", 4], "B"), ("choice_letter", [1, ["x", "y"]], "B"),
        ("choice_letter", ["y", ["x", "y"]], "B"),
        ("choice_letter", ["z", ["x", "y"]], None), ("choice_letter", [{"kind": "k", "value": "C"}, 4], "C"),
        ("same_number", [0.1, "0.1"], True), ("same_number", [None, 1], False), ("same_number", [1, None], False),
        ("same_number", [100.4, 100, 0.0, 0.01], True), ("same_number", [3, "#### 3"], True),
        ("same_number", ["x", "y"], False), ("same_number", [True, 1], False),
        ("same_calls", [[{"name": "f", "args": {"x": 1}}], [{"name": "f", "args": {"x": 1.0}}]], True),
        ("same_calls", [[{"name": "f", "args": {"x": 1}}], [{"f": {"x": [1, 2]}}]], True),
        ("same_calls", [[{"name": "f", "args": {"x": True}}], [{"name": "f", "args": {"x": 1}}]], False),
        ("same_calls", [None, []], False), ("same_calls", [[], []], True), ("same_calls", ["junk", "junk"], False),
        ("same_text", ["paris.", "Paris"], True), ("same_text", ["", ""], False), ("same_text", [None, None], False),
        ("refused", ["I'm sorry, but no."], True), ("refused", ["42"], False),
        ("read_number", ["1e999999999"], None), ("read_number", ["9" * 300], int("9" * 300)),
        ("read_number", [None], None), ("read_number", [12], 12), ("read_json", [{"a": 1}], {"a": 1}),
        ("read_json", ["[" * 5000], None), ("read_calls", ["f(x='" + "y" * 300_000 + "')"], None),
    ]  # fmt: skip
    found = read(runner, [(name, given) for name, given, _ in right])
    assert found == [want for *_, want in right]


def test_a_verdict_tells_why(runner: Path) -> None:
    told = read(runner, [("verdict", given) for given in (
        ["Answer: B", "B", True], ["Answer: B", "B", False], ["", None, False], ["hm", None, False],
        ["I'm sorry, I can't.", None, False], ["Answer: B", "B", 0.5], ["hm", None, True],
        ["3", {"a": [1]}, False],
    )])  # fmt: skip
    assert [one["score"] for one in told] == [1.0, 0.0, 0.0, 0.0, 0.0, 0.5, 0.0, 0.0]
    classes = [one["metrics"].get("class") for one in told]
    assert classes == [None, "wrong", "no_answer", "format_miss", "refused", "wrong", "format_miss", "wrong"]
    assert told[0]["metrics"]["extracted"] == "B"


def test_every_reader_is_told_of_and_nothing_else(runner: Path) -> None:
    code = "import sys; sys.path.insert(0, sys.argv[1]); import bench_task as b, bw_readers as r\n" \
           "assert b.READERS == set(r.KITS), b.READERS ^ set(r.KITS)\n" \
           "assert all(getattr(b, name).__doc__ for name in b.READERS)\n" \
           "try: b.read_minds\nexcept AttributeError: print('fine')"  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code, str(runner)], capture_output=True, text=True, check=False
    )
    assert done.stdout.strip() == "fine", done.stderr
    documented = (Path(__file__).parents[3] / "docs/howto/read-an-answer.md").read_text(encoding="utf-8")
    assert all(f"`{name}(" in documented for name in runtime_readers(runner))


def runtime_readers(runner: Path) -> list[str]:
    code = (
        "import json, sys; sys.path.insert(0, sys.argv[1]); import bench_task as b; print(json.dumps(list(b.READERS)))"
    )
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code, str(runner)], capture_output=True, check=True)
    found: list[str] = json.loads(done.stdout)
    return found
