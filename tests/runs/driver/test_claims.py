"""Claims in words that the facts of a run bear, and claims that they don't. The verdicts were written first."""

import pytest

from runs.driver.llm.claims import unborne

# As the built-in narration tells an ended run, and one that goes on.
ENDED = [
    "BFCL v4 parallel functions is asked of qwen/qwen3-32b via openrouter: 200 tasks.",
    "200 of 200 tasks ended: 157 passed, 34 failed, 7 errored, 2 unscored. 81.3% passed (95% interval 75.3 to 86.2).",
    "Not passed: 20 wrong, 8 truncated, 6 format_miss, 7 rate_limited, 2 scorer_exception.",
    "20 failed, wrong. The answer could be read and was not the expected one. This is the model.",
    "8 failed, truncated. The answer was cut at the token limit; the model may never have got to answer.",
    "6 failed, format_miss. The answer is not in the form that the scorer reads.",
    "7 errored, rate_limited. The provider kept saying that there were too many calls. This is not in the rate.",
    "  The first says: openrouter said 429 three times in a row.",
    "2 unscored, scorer_exception. The scorer raised an exception on this output. It counts as not passed.",
    "Raise max_tokens to 256 and run 8 cells again (≈ $0.04).",
]
GOING = [
    "MMLU is asked of openai/gpt-4o-mini via openrouter: 100 tasks, at most 16 at once.",
    "61 of 100 tasks ended: 44 passed, 14 failed, 3 errored. 74.6% passed so far (95% interval 62.2 to 83.9).",
    "Waiting on 429 from openrouter, retry in 12 s (3rd).",
    "Find: Skipped: pinned.",
]
LOST = ["10 of 10 tasks ended: 10 errored. None was scored.", "10 errored, timeout. No answer came in time."]
CLEAN = ["30 of 30 tasks ended: 30 passed. 100.0% passed (95% interval 88.6 to 100.0)."]
HALF = ["60 of 60 tasks ended: 30 passed, 20 failed, 10 errored. 60.0% passed (95% interval 46.0 to 72.0)."]
CHANCE = [*ENDED, "By chance, 25.0% would pass."]
NEAR_CHANCE = [
    "40 of 40 tasks ended: 12 passed, 28 failed. 30.0% passed (95% interval 18.1 to 45.4).",
    "Chance is 25%.",
]
SAID = ["The pass rate dropped from 84.0% in the parent to 81.3%.", "Model a beats model b on 12 tasks."]

BORNE = [
    ("157 of 200 tasks passed, and 81.3% is the rate.", ENDED),
    ("Two could not be scored; 7 errored.", ENDED),
    ("All 200 tasks ended.", ENDED),
    ("All tasks have ended.", ENDED),
    ("Most tasks passed.", ENDED),
    ("More than three quarters of the tasks passed.", ENDED),
    ("Not all tasks passed.", ENDED),
    ("Most of the failures were wrong answers.", [*ENDED[:2], "Not passed: 30 wrong, 4 truncated."]),
    ("The most common class is wrong, with 20.", ENDED),
    ("More passed than failed.", ENDED),
    ("7 errored because the provider kept saying that there were too many calls.", ENDED),
    ("7 errored due to rate limits.", ENDED),
    ("8 failed because the answer was cut at the token limit.", ENDED),
    ("Raise max_tokens to 256 and run 8 cells again.", ENDED),
    ("The facts do not say why 20 were wrong.", ENDED),
    ("It cannot be told whether it is better than another model.", ENDED),
    ("It asks at most 16 at once.", GOING),
    ("61 of 100 tasks have ended so far, 44 of them passed.", GOING),
    ("It waits because of a 429 from openrouter.", GOING),
    ("Find was skipped, so nothing was looked up.", GOING),
    ("More than half of the ended tasks passed.", GOING),
    ("None was scored.", LOST),
    ("No task passed.", LOST),
    ("All 10 errored.", LOST),
    ("Every task passed.", CLEAN),
    ("Nothing failed and no task was skipped.", CLEAN),
    ("Half of the tasks passed and a third failed.", HALF),
    ("Twice as many failed as errored.", HALF),
    ("It is clearly above chance.", CHANCE),
    ("The rate is not above chance.", NEAR_CHANCE),
    ("The pass rate dropped from 84.0% in the parent to 81.3%.", SAID),
    ("Model a beats model b.", SAID),
    ("The 7 rate-limited cells can be run again.", ENDED),
    ("Of the failures, 20 were wrong answers and 8 were cut off.", ENDED),
    ("The majority of answers were correct.", ENDED),
]  # fmt: skip

UNBORNE = [
    ("The model outperforms its rivals.", ENDED),
    ("This is better than the last run.", ENDED),
    ("It has the highest score on the board.", ENDED),
    ("81.3% passed, well above the usual 75.3%.", ENDED),
    ("The rate improved to 81.3%.", ENDED),
    ("Accuracy dropped toward the end.", ENDED),
    ("81.3% is a significant result.", ENDED),
    ("The model clearly knows its functions.", ENDED),
    ("The model struggles with parallel functions.", ENDED),
    ("The model is strong at parallel functions.", ENDED),
    ("20 failed because the model can't call two functions at once.", ENDED),
    ("34 failed due to rate limits.", ENDED),
    ("7 errored because the model was wrong.", ENDED),
    ("The wrong answers suggest a weak grasp of JSON.", ENDED),
    ("All tasks passed.", ENDED),
    ("All 157 tasks passed.", ENDED),
    ("Most tasks failed.", ENDED),
    ("None failed.", ENDED),
    ("No task errored.", ENDED),
    ("Half of the tasks passed.", ENDED),
    ("A third of the tasks failed.", ENDED),
    ("Twice as many passed as failed.", ENDED),
    ("Nearly all tasks passed.", ENDED),
    ("The most common class is truncated.", ENDED),
    ("More failed than passed.", ENDED),
    ("Most failures were rate limited.", ENDED),
    ("It is above chance.", ENDED),
    ("It is above chance.", NEAR_CHANCE),
    ("It is below chance.", CHANCE),
    ("Most tasks passed.", GOING),
    ("More than half passed.", GOING),
    ("The model performs well so far.", GOING),
    ("It is slow because openrouter is overloaded.", GOING),
    ("The trend is steadily upward.", GOING),
    ("Some tasks passed, but none errored.", LOST),
    ("Not all tasks passed.", CLEAN),
    ("Two thirds of the tasks passed.", HALF),
    ("The pass rate did not drop.", SAID),
    ("Model b beats model a.", SAID),
    ("The pass rate rose from 81.3% to 84.0%.", SAID),
    ("Everything passed.", ENDED),
    ("Only a few failed.", ENDED),
    ("The model has mastered the benchmark.", ENDED),
    ("It is not known why, but the model beats all others.", ENDED),
]  # fmt: skip


@pytest.mark.parametrize(("text", "facts"), BORNE)
def test_what_the_facts_bear_may_be_said(text: str, facts: list[str]) -> None:
    assert unborne(text, facts) == []


@pytest.mark.parametrize(("text", "facts"), UNBORNE)
def test_what_they_do_not_bear_is_named(text: str, facts: list[str]) -> None:
    assert unborne(text, facts)


def test_the_built_in_words_bear_themselves() -> None:
    for facts in (ENDED, GOING, LOST, CLEAN, HALF, CHANCE, NEAR_CHANCE, SAID):
        assert unborne("\n".join(facts), facts) == []


def test_it_names_the_word_and_where_it_stands() -> None:
    (told,) = unborne("157 of 200 tasks passed. The model beats the others.", ENDED)
    assert told == "“beats” in “the model beats the others”"
