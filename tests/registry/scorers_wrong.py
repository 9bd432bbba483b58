"""Wrong scorers, named by what is wrong. name -> (code, facts of the rows, what the lint says: code and level).

``UNSEEN`` are those that only a run of them shows; the self-test has them.
"""

from tests.registry.scorer_corpus import scorer

LETTER, NUMBER, TEXT = {"answers": "letter", "options": 4}, {"answers": "number"}, {"answers": "text"}
FIRST, ANYWHERE, PART = ("first_match", "warning"), ("answer_anywhere", "warning"), ("part_of_answer", "warning")
ZERO, PASSES, RUNS = ("error_is_zero", "warning"), ("error_passes", "error"), ("runs_output", "warning")
SETS = ("word_sets", "warning")
Wrong = tuple[str, dict[str, object], set[tuple[str, str]]]

WRONG: dict[str, Wrong] = {
    "findall and [0]": (scorer(r"return float(re.findall(r'\d+', output)[0] == expected)"), NUMBER, {FIRST}),
    "findall and [0], by a name": (scorer(r"""
        found = re.findall(r"\b[A-D]\b", output.strip())
        got = found[0] if found else ""
        return float(got == expected)
    """), LETTER, {FIRST}),
    "findall and [:1]": (scorer(r"return float(re.findall(r'\d+', output)[:1] == [expected])"), NUMBER, {FIRST}),
    "next of finditer": (scorer(r"""
        got = next(re.finditer(r"-?\d+", output)).group()
        return float(got == expected)
    """), NUMBER, {FIRST}),
    "next of a generator": (scorer("""
        got = next((one for one in output if one in "ABCD"), None)
        return float(got == expected)
    """), LETTER, {FIRST}),
    "the first letter in a loop": (scorer("return float(letter(output) == expected)", """
        def letter(text):
            for sign in text:
                if sign in "ABCD":
                    return sign
            return None
    """), LETTER, {FIRST}),
    "the first match in a loop that breaks": (scorer(r"""
        got = None
        for found in re.finditer(r"\d+", output):
            got = found.group()
            break
        return float(got == expected)
    """), NUMBER, {FIRST}),
    "the first word": (scorer("return float(output.split()[0] == expected)"), TEXT, {FIRST}),
    "the first word, kept": (scorer("first, *rest = output.split()\nreturn float(first.strip('.') == expected)"),
                             LETTER, {FIRST}),
    "split once": (scorer("return float(output.strip().split(' ')[0] == expected)"), TEXT, {FIRST}),
    "the first character": (scorer("return float(output[0] == expected)"), LETTER, {FIRST}),
    "the first character, trimmed": (scorer("return float(output.strip()[0].upper() == expected)"), LETTER, {FIRST}),
    "the first character, cut": (scorer("got = output.lstrip()[:1]\nreturn {'score': float(got == expected)}"), LETTER,
                                 {FIRST}),
    "the first character, in a helper": (scorer("return float(self.letter(output) == expected['answer'])\n").replace(
        "    def score", "    def letter(self, text):\n        return text.strip().upper()[:1]\n\n    def score"), {},
        {FIRST}),
    "the first character behind the thinking": (scorer("""
        text = output.split("</think>")[-1].strip()
        return float(text[:1] == expected)
    """), LETTER, {FIRST}),
    "a match that is the first, in a helper": (scorer("return float(number(output) == float(expected))", r"""
        NUMBER = re.compile(r"-?\d+(?:\.\d+)?")

        def number(text):
            found = NUMBER.findall(text)
            return float(found[0]) if found else None
    """), NUMBER, {FIRST}),
    "the answer behind a verdict": (scorer(r"""
        got = re.findall(r"\d+", strip_reasoning(output))[0]
        return verdict(output, got, got == expected)
    """, "from bench_task import strip_reasoning, verdict"), NUMBER, {FIRST}),
    "a letter anywhere": (scorer("return float(expected in output)"), LETTER, {ANYWHERE}),
    "a number anywhere": (scorer("return 1.0 if str(expected) in output.strip() else 0.0"), NUMBER, {ANYWHERE}),
    "a letter among the words": (scorer("return float(expected in output.split())"), LETTER, {ANYWHERE}),
    "a letter among the matches": (scorer(r"return float(expected in re.findall(r'\b[A-D]\b', output))"), LETTER,
                                   {ANYWHERE}),
    "a number that is found": (scorer("return float(output.find(str(expected)) >= 0)"), NUMBER, {ANYWHERE}),
    "a number that is searched": (scorer("return float(bool(re.search(re.escape(expected), output)))"), NUMBER,
                                  {ANYWHERE}),
    "startswith": (scorer("return float(output.strip().startswith(expected))"), LETTER, {ANYWHERE}),
    "a number it ends with": (scorer("return float(output.strip().endswith(expected))"), NUMBER, {ANYWHERE}),
    "a substring the wrong way round": (scorer("return float(output.strip() in expected)"), TEXT, {PART}),
    "startswith the wrong way round": (scorer("return float(expected.lower().startswith(output.lower()))"), TEXT,
                                       {PART}),
    "pass, and 0 at the end": (scorer("""
        try:
            return float(json.loads(output)["answer"] == expected)
        except Exception:
            pass
        return 0.0
    """), {}, {ZERO}),
    "a default before the try": (scorer("""
        score = 0.0
        try:
            score = float(json.loads(output)["answer"] == expected)
        except Exception as error:
            print(error)
        return score
    """), {}, {ZERO}),
    "a score set in the handler": (scorer("""
        try:
            score = float(json.loads(output)["answer"] == expected)
        except:
            score = 0
        return score
    """), {}, {ZERO}),
    "a passing default before the try": (scorer("""
        score = 1.0
        try:
            score = float(json.loads(output)["answer"] == expected)
        except Exception:
            pass
        return score
    """), {}, {PASSES}),
    "a passing end": (scorer("""
        try:
            if json.loads(output)["answer"] != expected:
                return 0.0
        except Exception:
            pass
        return 1.0
    """), {}, {PASSES}),
    "suppress, and 0 at the end": (scorer("""
        with contextlib.suppress(Exception):
            return float(json.loads(output)["answer"] == expected)
        return 0.0
    """, "import contextlib"), {}, {ZERO}),
    "suppress around a default": (scorer("""
        score = 0.0
        with suppress(Exception):
            score = float(json.loads(output)["answer"] == expected)
        return score
    """, "from contextlib import suppress"), {}, {ZERO}),
    "float in a broad try": (scorer("""
        try:
            return float(float(output) == expected)
        except Exception:
            return 0
    """), NUMBER, {ZERO}),
    "eval of the output": (scorer("return float(eval(output) == expected)"), {},
                           {("runs_output", "error"), ("float_equal", "warning")}),
    "eval under a ban": (scorer("""
        got = eval(output, {"__builtins__": {}})
        return float(abs(got - expected) < 1e-6)
    """), {}, {RUNS}),
    "exec of the output": (scorer("""
        space = {}
        exec(output, space)
        exec(expected["test"], space)
        return float(space["passed"])
    """), {}, {RUNS}),
    "exec of a fence": (scorer("""
        code = re.search(r"```python(.*?)```", output, re.DOTALL).group(1)
        space = {}
        exec(compile(code, "candidate", "exec"), space)
        return float(space["f"](1) == expected)
    """), {}, {RUNS}),
    "a small letter that is a capital one": (scorer("return float(output.strip().lower() == expected)"), LETTER,
                                             {("case_lost", "error")}),
    "letters of any case": (scorer(r"""
        found = re.findall(r"\b([a-d])\b", output.lower())
        return float(bool(found) and found[-1] == expected.lower())
    """), LETTER, {("letter_case", "warning")}),
    "letters of any case, by a flag": (scorer(r"""
        found = re.findall(r"\b[A-D]\b", output, re.IGNORECASE)
        return float(bool(found) and found[-1].upper() == expected)
    """), LETTER, {("letter_case", "warning")}),
    "a quotient by ==": (scorer("""
        got = json.loads(output)
        return float(got["part"] / got["whole"] == expected)
    """), NUMBER, {("float_equal", "warning")}),
    "all the words, in any order": (scorer(
        "return float(set(output.lower().split()) >= set(expected.lower().split()))"), TEXT, {SETS}),
    "the same words, by names": (scorer(r"""
        got = set(re.findall(r"\w+", output.lower()))
        want = set(re.findall(r"\w+", expected.lower()))
        return float(got == want)
    """), TEXT, {SETS}),
    "a subset of the words": (scorer("return float(set(expected.split()).issubset(set(output.split())))"), TEXT,
                              {SETS}),
    "any word of it": (scorer("return float(bool(set(output.split()) & set(expected.split())))"), TEXT, {SETS}),
}  # fmt: skip

# What is not to be told from the text, or is no fault under a prompt that asks for it: what the self-test says instead.
UNSEEN = {
    "the same to the last space": ("return float(output == expected)", "text", "line_end"),
    "a number that stands alone": ("return float(float(output) == float(expected))", "number", "reading"),
    "a line that must be there": (r"return float(expected in output.splitlines())", "number", "reading"),
    "the first line and nothing else": (
        "return float(output.splitlines()[0].strip() == expected)",
        "number",
        "reading",
    ),
    "the digits of everything": (r"return float(expected in re.sub(r'[^0-9]', '', output))", "number", "near_miss"),
    "the best of all numbers": (
        r"return max([float(one == expected) for one in re.findall(r'-?\d+', output)] or [0.0])",
        "number",
        "near_miss",
    ),
    "any of the numbers": (
        r"return float(any(float(one) == float(expected) for one in re.findall(r'-?\d+', output)))",
        "number",
        "near_miss",
    ),
    "the letter in the first line": ("return float(expected in output.strip().splitlines()[0])", "letter", "near_miss"),
    "the first letter behind the marker": (
        r"found = re.search(r'Answer:\s*([A-D])', output); return float(bool(found) and found.group(1) == expected)",
        "letter",
        "reading",
    ),
    "the most frequent letter": ("return float(max('ABCD', key=output.count) == expected)", "letter", "near_miss"),
}
