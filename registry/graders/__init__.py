"""Graders: scorers written as data. ``compile_grader`` turns one into the text of a task_impl.py."""

from registry.graders.checks import check_rows
from registry.graders.compiling import compile_grader
from registry.graders.schema import validate_grader

__all__ = ["check_rows", "compile_grader", "validate_grader"]
