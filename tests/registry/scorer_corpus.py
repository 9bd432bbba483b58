"""Scorers as data: good ones, which the lint must leave alone, and bad ones with what it must find."""

import textwrap


def scorer(
    body: str, head: str = "", solve: str = "return chat_sync([{'role': 'user', 'content': input['q']}])"
) -> str:
    """A task_impl.py with these lines in score()."""
    lines = textwrap.indent(textwrap.dedent(body).strip("\n"), " " * 8)
    return (
        "import json, random, re, subprocess, sys, time\nimport requests\nfrom bench_task import BenchTask, chat_sync\n"
        f"{textwrap.dedent(head)}\n\n"
        "class Task(BenchTask):\n"
        "    def extract(self, path, index):\n"
        "        row = json.loads(open(path).read().splitlines()[index])\n"
        "        return {'task_id': row['task_id'], 'input': row['input'], 'expected': row['expected']}\n\n"
        f"    def solve(self, index, input):\n        {solve}\n\n"
        f"    def score(self, index, output, expected):\n{lines}\n"
    )


GOOD = {
    "equal": scorer("return 1.0 if output == expected else 0.0"),
    "a number of a comparison": scorer("return float(output.strip() == expected)"),
    "a row by its place": scorer("return float(output == self.rows[index] == expected)"),
    "an unguarded parse": scorer("got = json.loads(output)\nreturn 1.0 if got == expected else 0.0"),
    "a narrow handler": scorer("""
        try:
            got = float(output)
        except ValueError:
            return 0.0
        return 1.0 if abs(got - expected) < 1e-6 else 0.0
    """),
    "a handler of several": scorer("""
        try:
            got = json.loads(output)["answer"]
        except (ValueError, KeyError, TypeError):
            return {"score": 0.0, "explanation": "no JSON with an answer"}
        return {"score": float(got == expected), "explanation": f"got {got}"}
    """),
    "a broad handler that raises again": scorer("""
        try:
            return float(json.loads(output) == expected)
        except Exception as error:
            raise ValueError(f"can't be read: {error}") from error
    """),
    "the last letter": scorer(r"""
        found = re.findall(r"\b([A-J])\b", output)
        return float(bool(found) and found[-1] == expected)
    """),
    "a letter behind a marker": scorer(r"""
        found = re.search(r"(?i)answer is \(?([A-J])\)?", output)
        return float(found is not None and found.group(1) == expected)
    """),
    "a whole letter": scorer(r"""
        found = re.search(r"^\s*\(?([A-J])\)?\s*$", output) or re.fullmatch(r"([A-J])\.", output)
        return float(found is not None and found.group(1) == expected)
    """),
    "a number behind a marker": scorer(r"""
        found = re.search(r"####\s*(-?[\d,]+)", output)
        return float(found is not None and found.group(1).replace(",", "") == expected)
    """),
    "a word that holds digits": scorer(r"""
        found = re.search(r"[\w.]+", output)
        return float(found is not None and found.group(0) == expected)
    """),
    "a version number at the end": scorer(r"""
        found = re.search(r"(\d+)\s*$", output)
        return float(found is not None and found.group(1) == expected)
    """),
    "letters made from the choices": scorer("""
        letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"[: len(expected["choices"])]
        return float(output.strip() in letters and output.strip() == expected["answer"])
    """),
    "the lowercase letters": scorer(r'return float(re.sub(r"[^a-z]", "", output.lower()) == expected)'),
    "a check that is called": scorer("return check(output, expected)", "def check(a, b):\n    return float(a == b)"),
    "a method that is called": scorer("return self.check(output, expected)\n\ndef x(self):\n    return 1.0").replace(
        "        def x(self):\n            return 1.0",
        "    def check(self, a, b):\n        return float(a == b)",
    ),
    "tests that are called": scorer("""
        program = output + "\\n" + expected["test"] + "\\ncheck(" + expected["entry_point"] + ")\\nprint('done')"
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=10)
        return float(done.stdout.endswith("done\\n"))
    """),
    "a child whose output is read": scorer("""
        done = subprocess.run([sys.executable, "-c", output], capture_output=True, text=True, timeout=5, check=True)
        return float(done.stdout.strip() == expected)
    """),
    "seeded chance": scorer("""
        order = random.Random(0).sample(range(len(expected)), len(expected))
        return float(all(output[at] == expected[at] for at in order))
    """),
    "a clock for its own pace": scorer("""
        until = time.monotonic() + 1
        same = [a == b for a, b in zip(output, expected) if time.monotonic() < until]
        return sum(same) / max(len(same), 1)
    """),
    "network in solve": scorer("return float(output == expected)", solve="return requests.get(input['url']).text"),
    "a module's name that is not called": scorer("""
        wanted = requests.utils.unquote if False else str
        return float(wanted(output) == expected)
    """),
    "a random that is not the module": scorer("""
        random = expected["random"]
        return float(output == random)
    """),
    "expected under another name": scorer("return float(output == expected)").replace(
        "index, output, expected", "index, got, want").replace("output == expected", "got == want"),
    "arguments as they come": scorer("return 1.0").replace(
        "def score(self, index, output, expected):\n        return 1.0",
        "def score(self, *given):\n        return float(given[1] == given[2])",
    ),
    "an input field that is named like the answer": scorer(
        "return float(output == expected)", solve="return chat_sync(input['messages'], stop=input.get('expected_end'))"
    ),
    "an async score": scorer("return float(output == expected)").replace("def score", "async def score"),
    "partial credit": scorer("""
        hits = sum(word in output for word in expected)
        if not expected:
            return 0.0
        return hits / len(expected)
    """),
    "a base class that scores": (
        "from bench_task import BenchTask\n\n\nclass Base(BenchTask):\n    def score(self, index, output, expected):\n"
        "        return float(output == expected)\n\n\nclass Task(Base):\n    def solve(self, index, input):\n"
        "        return 'x'\n"
    ),
    "a base class to fill in": (
        "from bench_task import BenchTask\n\n\nclass Base(BenchTask):\n    def score(self, index, output, expected):\n"
        '        """To be written."""\n        raise NotImplementedError\n\n\nclass Task(Base):\n'
        "    def solve(self, index, input):\n        return 'x'\n\n    def score(self, index, output, expected):\n"
        "        return float(output == expected)\n"
    ),
    "a helper that finds nothing": scorer(
        "return float(number(output) == expected)",
        "def number(text):\n    try:\n        return float(text)\n    except Exception:\n        return None\n",
    ),
}  # fmt: skip

# name -> (code, facts, what must be found)
BAD: dict[str, tuple[str, dict[str, object], set[tuple[str, str]]]] = {
    "always right": (scorer("return 1.0"), {}, {
        ("constant_score", "error"), ("expected_ignored", "error"), ("output_ignored", "error")}),
    "always right, in words": (scorer('return {"score": 1, "explanation": f"{output} {expected}"}'), {},
                               {("constant_score", "error")}),
    "right or a crash": (scorer("assert output == expected\nreturn 1.0"), {}, {("constant_score", "error")}),
    "a seed by the place": (scorer("return float(output == expected)", solve="random.seed(index)"), {},
                            {("index_as_task", "warning")}),
    "a table by the place": (scorer("return float(output == TABLE[index] == expected)", "TABLE = ['a', 'b']"), {},
                             {("index_as_task", "warning")}),
    "returns nothing": (scorer("same = output == expected"), {}, {("constant_score", "error")}),
    "the answer is not looked at": (scorer("return float(len(output) > 10)"), {}, {("expected_ignored", "error")}),
    "the output is not looked at": (scorer("return float(bool(expected))"), {}, {("output_ignored", "error")}),
    "bare except": (scorer("try:\n    return float(json.loads(output) == expected)\nexcept:\n    return 0"), {},
                    {("error_is_zero", "warning")}),
    "except Exception": (scorer("try:\n    return float(json.loads(output) == expected)\n"
                                "except Exception as why:\n    return {'score': 0.0, 'explanation': str(why)}"), {},
                         {("error_is_zero", "warning")}),
    "except among others": (scorer("try:\n    return float(output == expected)\nexcept (KeyError, Exception):\n"
                                   "    return False"), {}, {("error_is_zero", "warning")}),
    "a crash passes": (scorer("try:\n    return float(json.loads(output) == expected)\nexcept Exception:\n"
                              "    return 1.0"), {}, {("error_passes", "error")}),
    "half for a crash": (scorer("try:\n    return float(json.loads(output) == expected)\nexcept BaseException:\n"
                                "    return {'score': 0.5}"), {}, {("error_passes", "error")}),
    "a crash passes below": (scorer("return compared(output, expected)", "def compared(a, b):\n    try:\n"
                                    "        return float(json.loads(a) == b)\n    except:\n        return 1\n"), {},
                             {("error_passes", "error")}),
    "the first letter": (scorer(r'found = re.search(r"[ABCD]", output)' "\nreturn float(found.group(0) == expected)"),
                         {}, {("first_match", "warning")}),
    "the first compiled letter": (scorer("found = LETTER.search(output)\nreturn float(found.group(1) == expected)",
                                         r'LETTER = re.compile(r"\(([A-E])\)")'), {}, {("first_match", "warning")}),
    "the first number": (scorer(r'found = re.search(r"-?\d+(\.\d+)?", output)'
                                "\nreturn float(float(found.group(0)) == expected)"), {}, {("first_match", "warning")}),
    "four letters of ten": (scorer(r'found = re.findall(r"\b([A-D])\b", output)'
                                   "\nreturn float(found[-1] == expected)"), {"options": 10},
                            {("letter_range", "error")}),
    "a list of letters of five": (scorer('return float(output in "ABCD" and output == expected)'), {"options": 5},
                                  {("letter_range", "error")}),
    "a check that nobody calls": (scorer("return float(output == expected)",
                                         "def check(a, b):\n    return a.strip() == b.strip()"), {},
                                  {("check_never_called", "warning")}),
    "tests that nobody calls": (scorer("""
        program = output + "\\n" + expected["test"] + "\\nprint('done')"
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=10)
        return float(done.stdout.endswith("done\\n"))
    """), {"defines_check": True}, {("check_never_called", "error")}),
    "an exit status": (scorer("""
        done = subprocess.run([sys.executable, "-c", output + expected["test"]], timeout=10)
        return 1.0 if done.returncode == 0 else 0.0
    """), {}, {("exit_code_score", "warning")}),
    "an exit status that raises": (scorer("""
        try:
            subprocess.run([sys.executable, "-c", output + expected["test"]], timeout=10, check=True)
        except subprocess.CalledProcessError:
            return 0.0
        return 1.0
    """), {}, {("exit_code_score", "warning")}),
    "an exit status of a shell": (scorer('return float(subprocess.call(["test", output, "=", expected]) == 0)'), {},
                                  {("exit_code_score", "warning")}),
    "a judge on the network": (scorer('return requests.post("https://judge.example", json=[output, expected]).json()'),
                               {}, {("network_in_score", "error")}),
    "a judge by chat": (scorer("return judged(output, expected)", "def judged(a, b):\n"
                               "    return float('yes' in chat_sync([{'role': 'user', 'content': a + b}]))\n"), {},
                        {("network_in_score", "error")}),
    "a dice": (scorer("return float(output == expected or random.random() < 0.1)"), {},
               {("chance_in_score", "warning")}),
    "a clock": (scorer("return float(output == expected and time.time() < 2e9)"), {}, {("clock_in_score", "warning")}),
    "solve peeks": (scorer("return float(output == expected)", solve="return input['expected']"), {},
                    {("expected_in_solve", "error")}),
    "solve peeks by get": (scorer("return float(output == expected)", solve="return input.get('expected')"), {},
                           {("expected_in_solve", "error")}),
    "extract hands over the row": (scorer("return float(output == expected)").replace(
        "'input': row['input']", "'input': row"), {}, {("answer_in_input", "error")}),
    "extract hands over the answer": (scorer("return float(output == expected)").replace(
        "'input': row['input']", "'input': {**row['input'], 'hint': row['expected']}"), {},
        {("answer_in_input", "error")}),
}  # fmt: skip
