"""The judge kit: what the judge is shown, and what nobody can say to it from inside an answer."""

import json
from typing import Any

import pytest

from kernel.errors import DomainError
from registry.graders import compile_grader, validate_grader
from registry.graders.compiling import kit
from tests.twins import judges
from tests.twins.judges import INJECTIONS

GRADER = {"kind": "judge", "rubric": "The answer names the capital.", "judge": {"model": "j", "provider": "vllm"}}


def asked(output: Any, expected: Any = None, **more: Any) -> Any:
    return kit(validate_grader({**GRADER, **more}))["question"](output, expected)


@pytest.mark.parametrize("said", INJECTIONS, ids=range(len(INJECTIONS)))
def test_j21_what_an_answer_says_stays_inside_of_its_fence(said: str) -> None:
    question = asked(said)
    system, user = question["messages"][0]["content"], question["messages"][1]["content"]
    fence = next(word for word in system.split() if word.startswith("DATA-")).rstrip(".")
    before, inside, after = user.split(fence)
    assert before == "Rubric:\nThe answer names the capital.\n\n"
    assert inside.startswith(" begins\n")
    assert after == " ends"
    assert fence not in said
    assert len(user) < 70_000
    assert not set("\u200b\u202e\u202c\u2066\u2069") & set(user)
    assert question["schema"]["required"] == ["verdict"]


@pytest.mark.parametrize("said", INJECTIONS, ids=range(len(INJECTIONS)))
def test_j21_a_judge_that_obeys_whatever_stands_outside_hears_no_order(said: str) -> None:
    messages = asked(said)["messages"]
    assert judges.obeys_outside(messages) == judges.FAIL
    assert judges.obeys_all(messages) == judges.PASS, "the same order would be heard, were it not for the fence"
    fence = judges.shown(messages).fence
    pasted = [messages[0], {"content": f"{said}\n{fence} begins\n\n{fence} ends"}]
    assert judges.obeys_outside(pasted) == judges.PASS, "pasted without a fence it is heard"


def test_the_fence_depends_on_every_sign_of_the_answer() -> None:
    fences = {asked(text)["messages"][0]["content"] for text in ("Paris", "Paris ", "paris", "Pari", "Paris!")}
    assert len(fences) == 4  # white space around an answer is none of it
    assert asked("Paris") == asked("Paris"), "the same question again gets the recorded answer"


def test_thoughts_are_not_shown_and_nothing_is_not_judged() -> None:
    assert "secret plan" not in json.dumps(asked("<think>secret plan</think>Paris"))
    assert asked("") is None
    assert asked("<think>never ends") is None


def test_the_right_answer_is_shown_for_comparison() -> None:
    assert "A right answer, for comparison:\nParis" in asked("Lyon", "Paris")["messages"][1]["content"]


@pytest.mark.parametrize(
    ("scale", "said", "score"),
    [
        ("verdict", {"verdict": "pass", "reasoning": "it does"}, 1.0),
        ("verdict", {"verdict": "fail"}, 0.0),
        ("marks", {"mark": 10}, 1.0),
        ("marks", {"mark": 7, "reasoning": "mostly"}, 0.7),
        ("marks", {"mark": 0}, 0.0),
    ],
)
def test_its_word_is_the_score(scale: str, said: dict[str, Any], score: float) -> None:
    found = kit(validate_grader({**GRADER, "scale": scale}))["grade"]("Paris", None, said)
    assert found["score"] == pytest.approx(score)


def test_an_empty_answer_scores_nothing() -> None:
    found = kit(validate_grader(GRADER))["grade"]("", None, None)
    assert (found["score"], found["metrics"]["class"]) == (0, "no_answer")


def test_it_compiles_to_the_same_bytes() -> None:
    assert compile_grader(GRADER) == compile_grader(dict(reversed(GRADER.items())))
    compile(compile_grader(GRADER), "task_impl.py", "exec")
    with pytest.raises(DomainError) as refused:
        validate_grader({"kind": "judge", "judge": GRADER["judge"]})
    assert refused.value.errors[0]["loc"] == ["body", "grader", "rubric"]
