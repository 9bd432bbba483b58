"""The end of a compiled grader with a judge: the class that the sandbox runs."""

from registry.graders.kit.ends.task import Task
from registry.graders.kit.judge import grade, question

# --- kit ---


class Judged(Task):
    score = None

    def judge(self, index, output, expected):
        return question(output, expected)

    def score_judged(self, index, output, expected, verdict):
        return grade(output, expected, verdict)
