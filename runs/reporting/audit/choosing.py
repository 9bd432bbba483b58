"""Which second reader looks at an output, and why none does."""

from collections.abc import Mapping
from typing import Any

from registry.graders.schema import validate_grader
from runs.models import Run
from runs.reporting.audit import patterns, readers
from runs.reporting.audit.matching import Matcher
from runs.reporting.audit.programs import ProgramReader
from runs.reporting.audit.readers import SecondReader
from runs.reporting.audit.verdicts import VerdictReader

NO_OUTPUT = "There is no output to read again."
UNKNOWN_ROWS = "No second reader knows rows of this form, so nothing was read again."
NO_REPLY = "The judge's replies are not stored, so no verdict was read again."
TOO_LONG = "No output and its row are short enough to be read again."


class Chooser:
    """For one run. ``matcher``: where users' patterns are matched."""

    def __init__(self, run: Run, matcher: Matcher) -> None:
        stored = run.impl.grader if run.impl is not None else None
        self.grader: Mapping[str, Any] | None = None if stored is None else validate_grader(stored)
        self.kind = str(self.grader["kind"]) if self.grader is not None else ""
        self._matcher = matcher
        self._always: SecondReader | None = None
        if self.grader is not None:
            self._always = self._of_kind(self.grader, run.impl.pass_threshold if run.impl is not None else 1.0)

    @property
    def own_code(self) -> bool:
        return self.grader is None

    @property
    def judged(self) -> bool:
        """Whether it is a judge's reply that is read again."""
        return self.kind == "judge"

    def of(self, row: Mapping[str, Any], reply: str | None) -> SecondReader | None:
        """The reader of this row's output; None where there is none."""
        if self.judged and reply is None:
            return None
        if self.grader is not None and self.kind == "regex":
            return patterns.of_row(self.grader, row, self._matcher)
        return self._always if self.grader is not None else readers.of_row(row)

    def why_none(self, scored: int, read: int) -> str:
        """Why no output was looked at. ``scored``: how many there are; ``read``: how many could be loaded."""
        if not scored:
            return NO_OUTPUT
        if not read:
            return TOO_LONG
        return NO_REPLY if self.judged else UNKNOWN_ROWS

    def _of_kind(self, grader: Mapping[str, Any], threshold: float) -> SecondReader | None:
        if self.kind == "code":
            return ProgramReader(grader)
        if self.kind == "judge":
            return VerdictReader(grader, threshold)
        return readers.of_grader(grader)
