"""The two scorers of the guide (§6.3 and §8.4), word by word."""

import ast
import textwrap

from tests.journeys.programs import block


def _scorer(section: str) -> str:
    """The text that the guide's program makes of its literal."""
    literal, end, _ = block(section).partition("textwrap.dedent(")[2].partition("''')")
    assert end
    return textwrap.dedent(ast.literal_eval(f"{literal}'''")).strip()


TOOL_CALLS = _scorer("6.3")
GAUNTLET = _scorer("8.4")
