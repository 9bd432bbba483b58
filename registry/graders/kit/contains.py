"""contains: the expected texts stand in the answer."""

from registry.graders.kit.common import (
    GRADER,
    alternatives,
    answer_text,
    extracted_from,
    missed,
    shown,
    verdict,
    wrong,
)
from registry.graders.kit.words import has_words, normal

# --- kit ---


def grade(output, expected):
    text = answer_text(output)
    if not text:
        return missed(text, "")
    got = extracted_from(text)
    if got is None:
        return missed(text, "The output does not have the form that the grader reads.")
    want = [one for one in alternatives(expected) if one.strip()]
    inside = normal(got)
    lacking = [one for one in want if not holds(got, inside, one)]
    hits = len(want) - len(lacking)
    if want and (not lacking or (GRADER["need"] == "any" and hits)):
        return verdict(1, "The answer holds what was expected.", extracted=got)
    explanation = f"Not found: {shown(', '.join(lacking))}."
    if hits and GRADER["partial"]:
        return verdict(hits / len(want), explanation, "wrong", got)
    return wrong(text, explanation, got)


def holds(text, inside, piece):
    """Whether ``piece`` stands in ``text``, whose normal form is ``inside``."""
    sought = normal(piece)
    if not sought:
        return piece.strip() in text
    return has_words(inside, sought) if GRADER["whole_words"] else sought in inside
