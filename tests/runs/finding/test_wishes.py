"""What the words want beside a benchmark and a model: followed, asked about, or told; never lost."""

from dataclasses import replace

import pytest

from runs.finding import Known, read

BOUND = Known(bound=True)


@pytest.mark.parametrize(
    ("words", "note"),
    [
        ("without chain of thought", "without chain of thought"),
        ("with a system prompt", "system prompt"),
        ("with 8 parallel requests", "8 parallel requests"),
        ("max 3 attempts", "max 3 attempts"),
        ("5-shot", "5-shot"),
    ],
)
def test_it_tells_what_it_does_not_follow(words: str, note: str) -> None:
    made = read(f"GSM8K, {words}", BOUND)
    assert made.problem is None
    assert any(note in one and "not followed" in one for one in made.notes)


def test_no_examples_are_what_a_run_sends_anyway() -> None:
    assert not any("not followed" in one for one in read("GSM8K zero-shot", BOUND).notes)


def test_it_tells_where_it_stopped_reading() -> None:
    assert any("first 3,000 characters" in one for one in read("GSM8K" + " please" * 600, BOUND).notes)
    assert not any("characters" in one for one in read("GSM8K please", BOUND).notes)


def test_the_launchs_own_ceiling_goes_before_the_words() -> None:
    made = read("GSM8K for at most 10 cents", replace(BOUND, capped=frozenset({"money"})))
    assert made.problem is None
    assert made.limit is None
    assert any("10 cents" in one for one in made.notes)
    other = read("GSM8K for at most 10 cents", replace(BOUND, capped=frozenset({"time"})))
    assert other.problem is not None


def test_an_answer_settles_what_was_left_out_and_which_samples_are_meant() -> None:
    words = "MMLU but not abstract algebra, the last 10 questions"
    made = read(words, BOUND, answers=["catalogue:mmlu", "limit:10"])
    assert (made.problem, made.part, made.limit) == (None, None, 10)


@pytest.mark.parametrize("words", ["Adversarial NLI", "BBH tracking shuffled objects three objects"])
def test_the_name_of_a_benchmark_is_no_wish(words: str) -> None:
    made = read(words, BOUND)
    assert made.problem is None or "makes another benchmark" not in made.problem.question
