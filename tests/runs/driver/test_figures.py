"""Numbers of a text that are none of the facts'."""

import pytest

from runs.driver.llm.figures import foreign

FACTS = (
    "GSM8K is asked of openai/gpt-4o-mini via openrouter: 1,200 tasks. 61 of 1,200 ended: 44 passed, 14 failed, "
    "3 errored. 74.6% passed so far (95% interval 62.2 to 83.9). 09:15:23 Waits 12 s. Next: run it again (about $0.21)."
)


@pytest.mark.parametrize(
    "text",
    [
        "Of 1200 tasks 61 have ended, 44 of them passed.",
        "It stands at 74.6%, with 62.2 to 83.9 as its interval.",
        "74.60 percent passed.",
        "Three errored, and one of them waits 12 s.",
        "gpt-4o-mini would cost $0.21 more.",
        "All goes well.",
        "At 09:15 it waited.",
    ],
)
def test_what_stands_in_the_facts_may_be_said(text: str) -> None:
    assert foreign(text, FACTS) == []


@pytest.mark.parametrize(
    ("text", "strange"),
    [
        ("About 75% passed.", ["75%"]),
        ("44% passed.", ["44%"]),
        ("17 did not pass.", ["17"]),
        ("23 did not pass.", ["23"]),
        ("At 09:16 it waited.", ["09:16"]),
        ("It costs 0.21.", ["0.21"]),
        ("It costs $21.", ["$21"]),
        ("Only 1.2 thousand tasks.", ["1.2", "thousand"]),
        ("Seventeen did not pass.", ["seventeen"]),
        ("Three of a dozen passed.", ["dozen"]),
        ("About ¾ passed.", ["¾"]),
        ("1,139 are left, 1,139 in all.", ["1,139"]),
        ("٧٥ passed.", ["٧٥"]),
    ],
)
def test_what_does_not_is_named(text: str, strange: list[str]) -> None:
    assert foreign(text, FACTS) == strange
