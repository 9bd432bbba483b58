"""Reading a model's answer, for any task_impl.py: ``from bench_task import read_choice, read_number, …``.

Each reader takes the output as ``solve`` returned it (text, or any JSON), leaves out what the model thought, and
reads the rest. What can't be read is ``None``: never a guess, never an exception, never the first thing that fits.
The logic is the graders' own (modules ``bw_kit_…``), so a scorer and a grader read the same output alike.
"""

import importlib
from decimal import Decimal

KITS = {
    "strip_reasoning": ("bw_kit_text",),
    "refused": ("bw_kit_text",),
    "same_text": ("bw_kit_text",),
    "verdict": ("bw_kit_text",),
    "read_json": ("bw_kit_text",),
    "read_code": ("bw_kit_text",),
    "read_choice": ("bw_kit_choice",),
    "choice_letter": ("bw_kit_choice",),
    "read_choices": ("bw_kit_choices",),
    "read_number": ("bw_kit_number", "bw_kit_number_comma"),
    "same_number": ("bw_kit_number",),
    "check_code": ("bw_kit_code",),
    "read_calls": ("bw_kit_calls",),
    "same_calls": ("bw_kit_calls",),
}
UNREADABLE = (ValueError, RecursionError, MemoryError, ArithmeticError)
DIGITS = 4000  # a whole number of more is read as none


def ready(name: str):
    """The reader ``name`` with all that it needs loaded."""
    for module in KITS[name]:
        kit(module)
    return globals()[name]


def kit(module: str):
    return importlib.import_module(module)


def strip_reasoning(output) -> str:
    """The output as text without the model's thinking. "" where it never stopped thinking, or said nothing else."""
    return kit("bw_kit_text").answer_text(output)


def refused(output) -> bool:
    """True where the answer begins like a refusal ("I'm sorry, but I can't …")."""
    parts = kit("bw_kit_text")
    return bool(parts.REFUSAL.match(parts.answer_text(output)[: parts.SHOWN]))


def read_choice(output, choices) -> str | None:
    """The letter of the one choice that the output names ("A", "B", …).

    ``choices``: the choices' texts (list or dict), or how many there are (2 to 26). A letter beyond the last choice
    is none. Two letters where one is asked are None.
    """
    return letter(read_places("bw_kit_choice", output, choices))


def read_choices(output, choices) -> list[str] | None:
    """The letters of all choices that the output names, in order. ``choices`` as in read_choice."""
    found = read_places("bw_kit_choices", output, choices)
    return None if found is None else [chr(ord("A") + at) for at in sorted(found)]


def choice_letter(expected, choices) -> str | None:
    """The letter of the right choice, named by its letter, its index (from 0) or its text. None: it names none."""
    parts = kit("bw_kit_choice")
    try:
        return letter(parts.goals(expected, texts(parts, choices)))
    except UNREADABLE:
        return None


def read_places(module: str, output, choices):
    parts = kit(module)
    text = parts.answer_text(output)
    try:
        return parts.picked(text, texts(parts, choices)) if text else None
    except UNREADABLE:
        return None


def texts(parts, choices) -> list:
    return [""] * choices if isinstance(choices, int) else parts.choice_texts({"choices": choices})


def letter(found) -> str | None:
    return chr(ord("A") + next(iter(found))) if found and len(found) == 1 else None


def read_number(output, decimal: str = ".") -> int | float | None:
    """The number that the output gives as its answer: boxed, behind "####" or "answer is", else its LAST number.

    A whole number is an int, however large; any other a float. ``50%`` is 50, ``3/4`` is 0.75. ``decimal``: "." or ",".
    """
    parts = kit("bw_kit_number_comma" if decimal == "," else "bw_kit_number")
    try:
        return plain(parts.found_number(parts.answer_text(output)))
    except UNREADABLE:
        return None


def plain(value: Decimal | None) -> int | float | None:
    if value is None:
        return None
    if value == value.to_integral_value() and value.adjusted() < DIGITS:
        return int(value)
    found = float(value)
    return found if abs(found) != float("inf") else None


def same_number(got, want, absolute: float = 1e-6, relative: float = 0.0) -> bool:
    """Whether ``got`` (of read_number, or a text) is ``want`` (a number or a text that says one), within a tolerance.

    The larger of ``absolute`` and ``relative`` (a share of ``want``) counts. False where either is None.
    """
    parts = kit("bw_kit_number")
    try:
        left, right = parts.as_number(got), parts.as_number(want)
        return left is not None and right is not None and parts.within(left, right, float(absolute), float(relative))
    except UNREADABLE:
        return False


def read_json(output):
    """The JSON value that the output gives: all of it, its last fenced block, else the last object or list inside.

    None where there is none (and for ``null``).
    """
    parts = kit("bw_kit_text")
    if isinstance(output, (dict, list)):
        return output
    try:
        return parts.json_in(parts.answer_text(output))[1]
    except UNREADABLE:
        return None


def read_calls(output) -> list[dict] | None:
    """The function calls that the output makes, as [{"name": str, "args": dict}].

    JSON (whole, fenced or inside a text), ``<tool_call>`` tags, OpenAI's ``tool_calls`` and Python (``f(x=1)``) are
    read. None where no call can be read; [] only where the output says so itself.
    """
    try:
        found = kit("bw_kit_calls").calls_in(output)
    except UNREADABLE:
        return None
    if found is None or any(not isinstance(args, dict) for _, args in found):
        return None
    return [{"name": name, "args": args} for name, args in found]


def same_calls(got, want) -> bool:
    """Whether the calls ``got`` (of read_calls) are the calls ``want``, in any order, each met by one of its own.

    ``want``: [{"name", "args"}], compared exactly (1 and 1.0 are the same), or [{"f": {"x": [acceptable, values]}}].
    """
    parts = kit("bw_kit_calls")
    try:
        goal = parts.expected_calls(want)
        made = parts.calls_from(got)
        if goal is None or made is None or any(not isinstance(args, dict) for _, args in made):
            return False
        return len(made) == len(goal) == parts.matched(made, goal)[0]
    except UNREADABLE:
        return False


def read_code(output, language: str = "python") -> str | None:
    """The code that the output gives: its last fenced block in ``language``, else its last block that names none.

    A block that the model did not close counts to its end. Without any block, an output that is nothing but Python is
    the code. ``language`` "": the last block, whatever it is. None where there is no code.
    """
    parts = kit("bw_kit_text")
    try:
        return parts.code_in(parts.answer_text(output), language)
    except UNREADABLE:
        return None


def check_code(
    output, tests, entry_point: str | None = None, prompt: str = "", seconds: float = 10.0, memory_mb: int = 512
) -> dict:
    """A verdict on the program that ``output`` gives: it runs in a process of its own, and ``tests`` judge it here.

    ``tests``: test code (asserts, or ``check(candidate)`` with ``entry_point``), or cases [{"input", "output"}]; see
    docs/graders.md. ``prompt``: the beginning of the function, where the model completes it. ``seconds``,
    ``memory_mb``: what the program may take. Raises ValueError where the tests can't be carried out.
    """
    expected = {"tests": tests, "entry_point": entry_point, "prompt": prompt}
    return kit("bw_kit_code").grade(output, expected, seconds, memory_mb)


def same_text(output, expected) -> bool:
    """Whether the answer is one of the expected texts (a text, or a list), but for case, white space and edge signs."""
    try:
        return kit("bw_kit_text").grade(output, expected)["score"] == 1.0
    except UNREADABLE:
        return False


def verdict(output, got, right: bool | float) -> dict:
    """What ``score`` may return: {"score", "explanation", "metrics": {"class", "extracted"}}.

    ``got``: what was read from ``output`` (None: nothing could be); ``right``: True, False or a share from 0 to 1.
    Where it is not right, ``class`` tells why: ``no_answer``, ``refused``, ``format_miss`` or ``wrong``.
    """
    parts = kit("bw_kit_text")
    text = parts.answer_text(output)
    if got is None:
        return parts.missed(text, "No answer of the asked form can be read from the output.")
    if right is True or right == 1:
        return parts.verdict(1, "The answer is right.", extracted=got)
    found = parts.wrong(text, "The answer is not the right one.", got)
    return {**found, "score": right if type(right) is float else 0.0}
