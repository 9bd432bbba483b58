"""Tables of cases that take long: some of them in each test run, all of them among the longest."""

from collections.abc import Iterable
from typing import Any

import pytest


def every(step: int, cases: Iterable[Any]) -> list[Any]:
    """Each ``step``-th case unmarked, from the first; the others ``long``. A tuple is one case of several values."""
    marked = []
    for at, case in enumerate(cases):
        values = case if isinstance(case, tuple) else (case,)
        marked.append(pytest.param(*values, marks=[pytest.mark.long] if at % step else []))
    return marked
