"""A fork's description as fields of a grader: a few, told for sure, and nothing else."""

from typing import Any

import pytest

from registry.graders import validate_grader
from runs.driver.rules.wishes import NotUnderstood, grader_with

GUIDE = (
    "Parallel function calling failures are order-sensitive. Rewrite score() in task_impl.py to compare sets of "
    "{name, canonical_args} instead of ordered lists."
)
UNDERSTOOD: list[tuple[dict[str, Any], str, dict[str, Any]]] = [
    ({"kind": "tool_calls", "order": "same"}, GUIDE, {"order": "any"}),
    ({"kind": "tool_calls", "order": "same"}, "The order of the calls does not matter.", {"order": "any"}),
    ({"kind": "tool_calls", "order": "same"}, "Order doesn't matter", {"order": "any"}),
    ({"kind": "tool_calls", "order": "same"}, "Make it order-insensitive, please.", {"order": "any"}),
    ({"kind": "tool_calls"}, "Calls must be in the same order.", {"order": "same"}),
    ({"kind": "tool_calls"}, "Allow partial credit.", {"partial": True}),
    ({"kind": "exact"}, "Make the comparison case-sensitive.", {"normalise": {"ignore_case": False}}),
    ({"kind": "exact"}, "Don't ignore case.", {"normalise": {"ignore_case": False}}),
    ({"kind": "exact", "normalise": {"ignore_case": False}}, "Ignore case when comparing answers.",
     {"normalise": {"ignore_case": True}}),
    ({"kind": "exact"}, "Ignore punctuation and ignore case.",
     {"normalise": {"ignore_punctuation": True, "ignore_case": True}}),
    ({"kind": "regex"}, "Should be case insensitive", {"ignore_case": True}),
    ({"kind": "numeric"}, "Use a tolerance of 0.01.", {"absolute": 0.01}),
    ({"kind": "numeric"}, "tolerance 0.01", {"absolute": 0.01}),
    ({"kind": "numeric"}, "Allow a tolerance of 1 %.", {"relative": 0.01}),
    ({"kind": "numeric"}, "Use a relative tolerance of 0.05.", {"relative": 0.05}),
    ({"kind": "numeric"}, "Use the last number of the output.",
     {"extract": {"pattern": r"[-−]?\d[\d,]*(?:\.\d+)?", "which": "last"}}),
    ({"kind": "choice"}, "More than one answer can be right. Give partial credit.",
     {"multiple": True, "partial": True}),
    ({"kind": "contains", "whole_words": False}, "Whole words only.", {"whole_words": True}),
]  # fmt: skip


@pytest.mark.parametrize(("grader", "words", "change"), UNDERSTOOD, ids=[words for _, words, _ in UNDERSTOOD])
def test_it_sets_the_field_that_the_words_name(grader, words, change) -> None:
    before = validate_grader(grader)
    after = validate_grader(grader_with(words, before))
    for name, value in change.items():
        told = after[name]
        assert {key: told[key] for key in value} == value if isinstance(value, dict) else told == value
    assert after != before
    assert {name for name in after if after[name] != before.get(name)} == set(change)


REFUSED = [
    ("exact", "Use BLEU instead."),
    ("exact", "Ignore case and use BLEU."),
    ("exact", "Ignore case. Then ask GPT-5 whether the answers mean the same."),
    ("exact", "Make it better"),
    ("exact", ""),
    ("exact", "The order does not matter."),  # an exact grader knows no order
    ("exact", "Ignore case only in names of cities."),
    ("exact", "You should not be ignoring punctuation"),
    ("tool_calls", "Partial credit is wrong, remove it."),
    ("tool_calls", "Do not allow partial credit"),
    ("numeric", "Tolerance of a few percent."),
    ("numeric", "Ignore case."),
    ("choice", "Return 1.0 for every answer."),
    ("contains", "Never use whole words"),
]


@pytest.mark.parametrize(("kind", "words"), REFUSED)
def test_it_refuses_whatever_else_is_asked(kind: str, words: str) -> None:
    with pytest.raises(NotUnderstood):
        grader_with(words, validate_grader({"kind": kind}))


def test_it_names_what_it_did_not_understand() -> None:
    with pytest.raises(NotUnderstood, match="BLEU"):
        grader_with("Ignore case and use BLEU.", validate_grader({"kind": "exact"}))


def test_what_is_so_already_comes_out_as_it_was() -> None:
    grader = validate_grader({"kind": "tool_calls"})
    assert grader_with(GUIDE, grader) == grader
