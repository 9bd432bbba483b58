"""A grader in a few words."""

import pytest

from registry import graders


def test_it_leaves_out_what_a_run_may_send_otherwise():
    assert graders.told({"kind": "numeric", "model": {"temperature": 0.0}}) == "numeric"
    assert "model" not in graders.told({"kind": "tool_calls", "mode": "json_schema"})
    judged = {"kind": "judge", "judge": {"model": "m", "provider": "openai"}, "rubric": "r"}
    assert "judge.model m" in graders.told(judged)


@pytest.mark.parametrize(
    ("grader", "words"),
    [
        ({"kind": "numeric"}, "numeric"),
        ({"kind": "numeric", "absolute": 5, "prompt": {"template": "{{q}}"}}, "numeric, its own prompt, absolute 5.0"),
        ({"kind": "exact", "normalise": {"ignore_case": False}}, "exact, normalise.ignore_case False"),
        ({"kind": "contains", "extract": {"after": "So:"}}, "extract.after So:"),
    ],
)
def test_it_names_what_is_not_the_default(grader, words):
    assert words in graders.told(grader)
