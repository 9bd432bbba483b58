"""code: the answer is a program, and the program passes the task's tests."""

import re
import textwrap

import bw_referee

from registry.graders.kit.common import GRADER, answer_text, missed, text_of, verdict, wanted, wrong
from registry.graders.kit.fences import PYTHON, fenced
from registry.graders.kit.prompting import QUESTION_FIELDS

# --- kit ---

TEST_FIELDS = ("test_code", "test", "tests", "test_list", "cases", "assertions")
NAME_FIELDS = ("entry_point", "fn_name", "function_name")
DEFINES = re.compile(r"^(?:async[ \t]+)?def[ \t]+(\w+)[ \t]*\(", re.MULTILINE)
CODE_LINE = re.compile(r"^(?:from|import|def|class|async def|@|[A-Za-z_]\w*[ \t]*(?::[^\n=]*)?=[^=])", re.MULTILINE)
CHECKS = re.compile(r"\bassert|\bcheck\b|\braise\b|\bself\.fail|\bassert_")
PROGRAM_LIMIT = 200_000  # characters


def prompt_of(input):
    """The text that asks for the program."""
    if isinstance(input, str):
        return input
    found = [input[field] for field in QUESTION_FIELDS if isinstance(input, dict) and isinstance(input.get(field), str)]
    return found[0] if found else ""


def entry_of(input, expected):
    """The name of the function under test: said by the row, else the last one that the prompt begins; or None."""
    for place in (wanted(expected), expected, input):
        for field in NAME_FIELDS if isinstance(place, dict) else ():
            if isinstance(place.get(field), str) and place[field].isidentifier():
                return place[field]
    found = DEFINES.findall(prompt_of(input))
    return found[-1] if found else None


def tests_of(expected):
    """{"code": text} or {"cases": [(args, named, result)]}; None where the expected value holds no tests."""
    value = wanted(expected)
    setup = ""
    if isinstance(value, dict):
        setup = "\n".join(lines_of(value.get("test_imports")) + lines_of(value.get("test_setup_code")))
        if isinstance(value.get("inputs"), list) and isinstance(value.get("outputs"), list):
            return paired(value["inputs"], value["outputs"])
        value = next((value[field] for field in TEST_FIELDS if field in value), None)
    if isinstance(value, str):
        return {"code": f"{setup}\n{value}" if setup else value} if value.strip() else None
    if not isinstance(value, list) or not value:
        return None
    if all(isinstance(one, str) for one in value):
        return {"code": "\n".join([*lines_of(setup or None), *value])}
    found = [case_of(one) for one in value]
    return None if None in found else {"cases": found}


def lines_of(value):
    return [value] if isinstance(value, str) else [one for one in value or [] if isinstance(one, str)]


def paired(inputs, outputs):
    if not inputs or len(inputs) != len(outputs):
        return None
    return {"cases": [case_of([given, result]) for given, result in zip(inputs, outputs, strict=True)]}


def case_of(one):
    """(args, named, result) of {"input", "output"} or [input, output]: a list is all arguments, an object names."""
    if isinstance(one, dict):
        given = next((one[key] for key in ("input", "inputs", "args", "arguments") if key in one), None)
        result = [one[key] for key in ("output", "outputs", "expected", "result") if key in one]
        if not result or not any(key in one for key in ("input", "inputs", "args", "arguments")):
            return None
        one = [given, result[0]]
    if not isinstance(one, list) or len(one) != 2:
        return None
    given, result = one
    args = given if isinstance(given, list) else [] if isinstance(given, dict) else [given]
    return args, given if isinstance(given, dict) else {}, result


def fault_of(expected, entry):
    """Why a row's tests could never be passed; "" where they could."""
    tests = tests_of(expected)
    if tests is None:
        return "expected must hold tests: test code, a list of asserts, or a list of {input, output}."
    if "cases" in tests:
        return "" if entry else "cases need an entry_point: the name of the function to call."
    if not CHECKS.search(tests["code"]):
        return "the test code asserts nothing, so any program would pass it."
    if re.search(r"^def[ \t]+check[ \t]*\(", tests["code"], re.MULTILINE) and not entry:
        return "check(candidate) needs an entry_point: the name of the function to check."
    return ""


def expected_of(row):
    """What ``score`` is given: the tests, the function's name and the prompt, whose beginnings the program may need."""
    entry = entry_of(row["input"], row.get("expected"))
    return {"tests": row.get("expected"), "entry_point": entry, "prompt": prompt_of(row["input"])}


def grade(output, expected, seconds=None, memory_mb=None):
    given = expected if isinstance(expected, dict) and "tests" in expected else {"tests": expected}
    text = answer_text(output)
    if not text:
        return missed(text, "")
    tests = tests_of(given["tests"])
    entry = given.get("entry_point") or entry_of(None, given["tests"])
    if tests is None or fault_of(given["tests"], entry):
        raise ValueError(fault_of(given["tests"], entry))
    prompt = given.get("prompt") or ""
    if len(text) > PROGRAM_LIMIT:
        return verdict(0, f"The answer has more than {PROGRAM_LIMIT:,} characters.", "format_miss", text)
    texts, cut = programs(text_of(output), text, prompt, entry)
    if not texts:
        return missed(text, "The output holds no Python code.")
    job = {"texts": texts, "cut": cut, "entry": entry, "helpers": helpers(prompt, entry), **tests}
    found = bw_referee.verdict(job, seconds or GRADER["seconds"], memory_mb or GRADER["memory_mb"])
    if "bad" in found:
        raise ValueError(f"The task can't be graded: {found['bad']}.")
    if found.get("passed") is True:
        return verdict(1, "The program passes the tests.", extracted=texts[0])
    return wrong(text, found["why"], texts[0])


def helpers(prompt, entry):
    """The prompt as Python that defines what stands before the function asked for; "" where it is prose."""
    return f"{prompt.rstrip()}\n    pass\n" if begins(prompt, entry) else ""


def begins(prompt, entry):
    """Where the prompt begins the function ``entry`` (its last place), or None."""
    places = [match for match in DEFINES.finditer(prompt) if match.group(1) == entry]
    return places[-1] if places else None


def programs(output, text, prompt, entry):
    """(the texts that may be the program, in order of trust; whether lines may be cut from their end)."""
    begun = begins(prompt, entry)
    before = prompt[: begun.start()] if begun else ""
    blocks = [body for language, body in fenced(text) if body.strip() and (language in PYTHON or not language)]
    named = rf"^(?:async[ \t]+)?(?:def|class)[ \t]+{re.escape(entry)}\b|^{re.escape(entry)}[ \t]*=" if entry else r"^\w"
    whole = re.compile(named, re.MULTILINE)
    if blocks:
        own = [textwrap.dedent(body) for body in blocks]
        chosen = [body for body in own if whole.search(body)] or own
        if begun and not whole.search(chosen[-1]):
            return completions(prompt, blocks[-1]), False
        return [before + chosen[-1], chosen[-1]], False
    if fenced(text):
        return [], False
    if whole.search(text) and (entry or CODE_LINE.search(text)):
        code = text[CODE_LINE.search(text).start() :] if CODE_LINE.search(text) else text
        return [before + code, code], True
    # White space at its beginning is what tells a function's body from other text.
    bare = output.strip("\n") if output.strip() == text else text
    return (completions(prompt, bare), True) if begun else ([], False)


def completions(prompt, body):
    """The prompt's function with this body, whatever its indentation."""
    first, _, rest = body.partition("\n")
    indented = textwrap.indent(textwrap.dedent(body), "    ")
    tries = [body, indented]
    if first == first.lstrip():  # its own white space was lost, or all of it stands at the margin
        tries = [
            f"    {first}\n{rest}",
            indented,
            f"    {first}\n" + textwrap.indent(textwrap.dedent(rest), "    "),
            body,
        ]
    return [f"{prompt.rstrip()}\n{one}" for one in dict.fromkeys(tries)]
