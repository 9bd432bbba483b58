"""The grader of programs where it runs: what counts as the program, what the tests may ask, who is to blame."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernel.errors import DomainError
from registry.graders import check_rows, isolation, judging, validate_grader
from registry.graders.compiling import kit
from runs.compute import runtime
from runs.compute.local import LocalCompute, UnsafeRoles
from tests.registry.graders.test_hacks import EXPECTED, FOLDER, RIGHT, fenced, spec
from tests.sandbox.conftest import Open

CODE = validate_grader({"kind": "code"})
ADD = "def add(a, b):\n    return a + b"
PROMPT = 'def add(a: int, b: int) -> int:\n    """The sum."""\n'


def row(prompt: Any, tests: Any, **more: Any) -> dict[str, Any]:
    return {"task_id": "t", "input": {"prompt": prompt, **more}, "expected": tests}


async def scores(*pairs: tuple[str, dict[str, Any]]) -> list[dict[str, Any]]:
    roles = await LocalCompute().open(spec())
    try:
        opened = Open(roles)
        items = await opened.extract(*(one for _, one in pairs))
        return await opened.score(*((pairs[at][0], item["expected"]) for at, item in enumerate(items)), seconds=60)
    finally:
        await roles.close()


def programs() -> dict[str, tuple[str, dict[str, Any], float]]:
    """name -> (output, row, score): shapes of answers and of tests."""
    path = Path(__file__).parent / "answers" / "programs.jsonl"
    every = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return {one["name"]: (one["output"], row_of(one), one["score"]) for one in every}


def row_of(one: dict[str, Any]) -> dict[str, Any]:
    return {"task_id": "t", "input": one["input"], "expected": one["expected"]}


FORMS = programs()


async def test_it_reads_and_judges_programs() -> None:
    told = await scores(*((output, given) for output, given, _ in FORMS.values()))
    amiss = {
        name: one
        for (name, (_, _, want)), one in zip(FORMS.items(), told, strict=True)
        if one.get("score") != want or not one["explanation"]
    }
    assert not amiss
    classes = {name: one["metrics"].get("class") for name, one in zip(FORMS, told, strict=True)}
    assert (classes["guide"], classes["wrong case"]) == (None, "wrong")
    assert (classes["refusal"], classes["cut-off thought"]) == ("refused", "no_answer")


async def test_faults_of_the_tests_are_no_fault_of_the_program() -> None:
    tests = [
        ("assert add(lambda: 1, 2) == 3", "can't be given to a program"),
        ("assert add(1, 2) == 3)", "do not compile"),
        ("assert True", "never call the program"),
        ("add(1, 2)\nraise SystemExit(0)", "SystemExit"),
        ("assert np.isclose(add(1, 2), 3)", "prompt's own code can't run here"),
    ]
    helped = f"import numpy_of_nobody as np\n\n{PROMPT}"
    cheat = "```python\nclass np:\n    isclose = staticmethod(lambda *a: True)\ndef add(a, b):\n    return 0\n```"
    pairs = [(ADD, row(PROMPT, code)) for code, _ in tests[:-1]]
    told = await scores(*pairs, (cheat, row(helped, tests[-1][0])))
    for one, (_, words) in zip(told, tests, strict=True):
        assert (one["op"], one["error"]["class"]) == ("unscored", "scorer_exception")
        assert words in one["error"]["message"]


def test_it_is_judged_apart() -> None:
    assert judging(CODE).runs_code
    assert judging(CODE).seconds > CODE["seconds"]
    assert (isolation(CODE, "batch"), isolation(validate_grader({"kind": "exact"}), "batch")) == ("task", "batch")
    assert not any(judging(validate_grader({"kind": kind})).runs_code for kind in ("exact", "choice", "tool_calls"))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (row("x", None), "must hold tests"), (row("x", ""), "must hold tests"), (row("x", []), "must hold tests"),
        (row("x", {"test_code": "print(add(1, 2))"}), "asserts nothing"), (row("x", [[[1], 2]]), "entry_point"),
        (row("x", "def check(candidate):\n    assert candidate(1)"), "entry_point"),
        (row("x", [{"input": 1}]), "must hold"),
        (row("x", {"inputs": [1], "outputs": []}), "must hold tests"),
    ],
)  # fmt: skip
def test_rows_that_no_program_could_pass_are_refused(given: dict[str, Any], words: str) -> None:
    with pytest.raises(DomainError, match=words):
        check_rows(CODE, [given])


def test_test_code_that_does_not_compile_is_named_by_row() -> None:
    """Whatever it is: a slip, or a text that would end the process that reads it."""
    fine = row("x", "assert add(1, 2) == 3")
    for text, words in (("assert add(1, 2) == 3)", "line 1"), ("assert " + "(" * 100_000, "nested|parenthes|compile")):
        with pytest.raises(DomainError, match=words) as caught:
            check_rows(CODE, [fine, fine, row("x", text), fine])
        assert [one["loc"] for one in caught.value.errors] == [["body", "tasks", 2, "expected"]]


def test_good_rows_are_taken() -> None:
    check_rows(CODE, [given for _, given, _ in FORMS.values()])


def test_it_asks_for_code() -> None:
    messages = kit(CODE)["messages_for"]({"prompt": "Write add."})
    assert "fenced code block" in messages[-1]["content"]
    json.dumps(messages)


TEXTS = st.lists(
    st.sampled_from(
        ["```", "```python\n", "~~~", "\n", "def add(a, b):", "    return a + b", "return", "add = 1", "import os", " ",
         "\t", "<think>", "</think>", "class add:", "x", "@", "\ud800", "\0", "    ", "```\n```", "async def add():",
         "\r\n"]
    ),
    max_size=12,
).map("".join)  # fmt: skip


@settings(deadline=None)
@given(TEXTS, st.sampled_from([PROMPT, "", "Write add.", "def add("]), st.sampled_from(["add", None]))
def test_it_finds_a_program_in_whatever_is_said_or_none(text: str, prompt: str, entry: str | None) -> None:
    parts = kit(CODE)
    texts, _ = parts["programs"](text, parts["answer_text"](text), prompt, entry)
    assert isinstance(texts, list)
    assert all(isinstance(one, str) for one in texts)


async def test_it_judges_without_walls_too() -> None:
    """Where an operator runs scorers unsandboxed, the program's own limits and the call protocol still stand."""
    hacks = [fenced((FOLDER / f"{name}.txt").read_text(encoding="utf-8")) for name in UNWALLED]
    roles = UnsafeRoles(spec(), runtime.ensure())
    await roles.start()
    try:
        pairs = [(fenced(RIGHT), EXPECTED), *((hack, EXPECTED) for hack in hacks), (fenced(RIGHT), EXPECTED)]
        told = await Open(roles).score(*pairs, seconds=60)
    finally:
        await roles.close()
    assert [one.get("score") for one in told] == [1.0, *[0.0] * len(hacks), 1.0], told


UNWALLED = (
    "os_exit_in_call", "always_equal", "kill_parent", "kill_group", "kill_by_threads", "ptrace", "raw_fork",
    "subprocess", "endless_loop", "network", "memory_bomb", "forged_answers",
)  # fmt: skip
