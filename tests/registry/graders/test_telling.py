"""A grader in a few words."""

import pytest

from registry import graders


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
