"""The end of a compiled grader: the class that the sandbox runs."""

import json
import os

from bench_task import BenchTask, chat

from registry.graders.kit.common import GRADER
from registry.graders.kit.exact import grade
from registry.graders.kit.prompting import expected_of, messages_for, output_of, request_for

# --- kit ---


class Task(BenchTask):
    _lines = (None, [])

    def extract(self, path, index):
        state = os.stat(path)
        seen = (path, state.st_mtime_ns, state.st_size, state.st_ino)
        if self._lines[0] != seen:
            with open(path, encoding="utf-8", newline="\n") as file:
                self._lines = (seen, file.read().split("\n"))
        row = json.loads(self._lines[1][index])
        return {"task_id": row["task_id"], "input": row["input"], "expected": expected_of(row)}

    async def solve(self, index, input):
        request = request_for(input, messages_for(input))
        return output_of(await chat(**{**GRADER["model"], **request}), input)

    def score(self, index, output, expected):
        return grade(output, expected)
