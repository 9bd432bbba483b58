"""Graders: scorers written as data. ``compile_grader`` turns one into the text of a task_impl.py."""

from registry.graders.checks import check_rows
from registry.graders.compiling import compile_grader, reader_modules
from registry.graders.judging import GRADER_SECONDS, isolation, judging
from registry.graders.schema import validate_grader
from registry.graders.telling import told

__all__ = [
    "GRADER_SECONDS",
    "check_rows",
    "compile_grader",
    "isolation",
    "judging",
    "reader_modules",
    "told",
    "validate_grader",
]
