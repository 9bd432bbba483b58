"""exact: the answer equals one of the expected texts."""

from registry.graders.kit.common import (
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
    want = alternatives(expected)
    got = extracted_from(text)
    if got is None:
        return missed(text, "The output does not have the form that the grader reads.")
    read = normal(got)
    for one in want:
        if same_text(got, read, one):
            return verdict(1, "The answer is right.", extracted=got)
    named = shown(" or ".join(want))
    if any(has_words(read, normal(one)) for one in want):
        return verdict(0, f"The output holds the answer {named}, but not alone.", "format_miss", got)
    return wrong(text, f"Expected {named}, got {shown(got)}.", got)


def same_text(got, read, want):
    """Whether two texts are the same; ``read`` is ``got``'s normal form. What that would erase is compared as it is."""
    right = normal(want)
    return read == right if right else got.strip() == want.strip() != ""
