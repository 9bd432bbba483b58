"""regex: the answer matches a pattern, the grader's or the task's own."""

import re
import warnings

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

# --- kit ---


def grade(output, expected):
    text = answer_text(output)
    if not text:
        return missed(text, "")
    got = extracted_from(text)
    if got is None:
        return missed(text, "The output does not have the form that the grader reads.")
    for pattern in patterns(expected):
        found = pattern.fullmatch(got) if GRADER["match"] == "whole" else pattern.search(got)
        if found:
            return verdict(1, "The answer matches.", extracted=found.group(0))
    return wrong(text, f"No match in {shown(got)}.", got)


def patterns(expected):
    """The patterns that count, compiled; one that does not compile matches nothing."""
    flags = (re.IGNORECASE if GRADER["ignore_case"] else 0) | (re.DOTALL if GRADER["dot_all"] else 0)
    flags |= re.MULTILINE if GRADER["multi_line"] else 0
    given = GRADER.get("pattern")
    if given is None:
        sources = alternatives(expected)
    elif "{{expected}}" in given:
        sources = [given.replace("{{expected}}", re.escape(one)) for one in alternatives(expected)]
    else:
        sources = [given]
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for source in sources:
            try:
                found.append(re.compile(source, flags))
            except (re.error, RecursionError, OverflowError):
                continue
    return found
