"""The fields of the scorer form: one line for each thing that a grader may say. docs/graders.md explains them."""

from typing import NamedTuple

TEXTS = ("exact", "contains")
ALL = ("exact", "contains", "regex", "numeric", "choice", "tool_calls", "code")
READ = ("exact", "contains", "regex", "numeric", "choice")

# kind -> (its name on the page, when it fits)
KINDS = {
    "exact": ("Exact text", "The answer equals the expected text, case and quotes aside."),
    "contains": ("Contains", "The answer holds the expected text, or all of a list."),
    "numeric": ("Number", "The answer is the expected number, within a tolerance."),
    "choice": ("Multiple choice", "The answer names the right one of 2 to 26 choices."),
    "regex": ("Pattern", "The answer matches a regular expression."),
    "tool_calls": ("Tool calls", "The model calls the expected functions."),
    "code": ("Code", "The answer is a Python program that passes the task's tests."),
}


class Option(NamedTuple):
    """One field. ``path``: its place in the grader. ``widget``: text, area, number, check, or words to choose from."""

    name: str
    path: tuple[str, ...]
    kinds: tuple[str, ...]
    label: str
    widget: str | tuple[str, ...] = "text"
    default: str = ""
    hint: str = ""


OPTIONS = (
    Option("template", ("prompt", "template"), ALL, "Question", "area", "",
           "Names of input fields stand in double braces: {{question}}. Empty: the input itself is the question."),
    Option("system", ("prompt", "system"), ALL, "System message", "area"),
    Option("pattern", ("pattern",), ("regex",), "Pattern", "text", "",
           "{{expected}} stands for the task's expected text. Empty: the expected text is the pattern."),
    Option("match", ("match",), ("regex",), "Match", ("search", "whole"), "search"),
    Option("regex_case", ("ignore_case",), ("regex",), "Ignore case", "check"),
    Option("dot_all", ("dot_all",), ("regex",), "A dot matches line ends", "check"),
    Option("multi_line", ("multi_line",), ("regex",), "^ and $ match at each line", "check"),
    Option("need", ("need",), ("contains",), "Of a list", ("any", "all"), "any"),
    Option("whole_words", ("whole_words",), ("contains",), "Whole words only", "check", "on"),
    Option("absolute", ("absolute",), ("numeric",), "Tolerance", "number", "0.000001"),
    Option("relative", ("relative",), ("numeric",), "Relative tolerance", "number", "0", "0.01 is one per cent"),
    Option("decimal", ("decimal",), ("numeric",), "Decimal sign", (".", ","), "."),
    Option("choices_field", ("choices_field",), ("choice",), "Field with the choices", "text", "choices"),
    Option("answer", ("answer",), ("choice",), "Expected names it by", ("auto", "letter", "index", "text"), "auto"),
    Option("multiple", ("multiple",), ("choice",), "Several are right", "check"),
    Option("mode", ("mode",), ("tool_calls",), "Mode", ("tools", "json_schema"), "tools"),
    Option("functions_field", ("functions_field",), ("tool_calls",), "Field with the functions", "text", "functions"),
    Option("tool_choice", ("tool_choice",), ("tool_calls",), "Tool choice", ("auto", "required"), "auto"),
    Option("calls", ("calls",), ("tool_calls",), "Calls in JSON mode", ("one", "many"), "one"),
    Option("order", ("order",), ("tool_calls",), "Order of calls", ("any", "same"), "any"),
    Option("strings", ("strings",), ("tool_calls",), "Compare texts", ("auto", "exact", "loose"), "auto"),
    Option("accept_text", ("accept_text",), ("tool_calls",), "Read calls from plain text too", "check", "on"),
    Option("seconds", ("seconds",), ("code",), "Seconds a program may take", "number", "10"),
    Option("memory_mb", ("memory_mb",), ("code",), "Megabytes it may take", "number", "512"),
    Option("ignore_case", ("normalise", "ignore_case"), TEXTS, "Ignore case", "check", "on"),
    Option("ignore_whitespace", ("normalise", "ignore_whitespace"), TEXTS, "Ignore white space", "check", "on"),
    Option("trim_punctuation", ("normalise", "trim_punctuation"), TEXTS, "Trim quotes and stops", "check", "on"),
    Option("ignore_punctuation", ("normalise", "ignore_punctuation"), TEXTS, "Ignore punctuation", "check"),
    Option("partial", ("partial",), ("contains", "choice", "tool_calls"), "Give partial credit", "check"),
    Option("after", ("extract", "after"), READ, "The answer stands behind", "text", "",
           "Such as “Answer:”. Empty: the kind's own way of reading."),
    Option("expected_field", ("expected_field",), ALL, "Path to the answer in expected", "text", "",
           "Such as answer.value. Empty: expected itself."),
    Option("temperature", ("model", "temperature"), ALL, "Temperature", "number"),
    Option("max_tokens", ("model", "max_tokens"), ALL, "Most tokens of an answer", "number"),
    Option("strip_reasoning", ("strip_reasoning",), ALL, "Leave out what the model thought", "check", "on"),
)  # fmt: skip
# Asked first; the rest folds away.
FIRST = ("template", "pattern", "absolute", "choices_field", "functions_field", "need")
