"""Rows of function calling as OpenAI's API takes them, whoever's scorer reads them. Pure.

BFCL writes types its own way, puts dots into names, wraps the question in turns, and lists for each argument all values
that will do. A scorer that sends ``input["functions"]`` as ``tools`` and compares ``expected`` with the calls that come
back needs none of that; ``accept`` keeps the lists for those that read them.
"""

import re
from collections.abc import Mapping
from typing import Any

Json = dict[str, Any]
_TYPES = {"dict": "object", "float": "number", "double": "number", "long": "integer", "tuple": "array",
          "list": "array", "set": "array", "bool": "boolean", "str": "string", "int": "integer"}  # fmt: skip
_PLAIN = frozenset(("object", "array", "string", "number", "integer", "boolean", "null"))


def openai_calls(task: Json) -> Json:
    """Question, functions and answer in OpenAI's shape. ValueError where the answer lists no calls."""
    told = task["input"]
    listed = told["functions"] if isinstance(told["functions"], list) else [told["functions"]]
    given = {**told, "question": _asked(told["question"]), "functions": [_tool(each) for each in listed]}
    if not isinstance(task["expected"], list):
        raise ValueError("the answer is no list of calls")
    return {**task, "input": given, "expected": [_call(each) for each in task["expected"]]}


def openai_no_calls(task: Json) -> Json:
    """The same where right is to call nothing."""
    return openai_calls({**task, "expected": []})


def _asked(question: Any) -> Any:
    """One message of one user is its text; what else there is stays messages."""
    messages = question[0] if isinstance(question, list) and len(question) == 1 else question
    if isinstance(messages, list) and len(messages) == 1:
        (messages,) = messages
    if isinstance(messages, Mapping) and messages.get("role") == "user" and isinstance(messages.get("content"), str):
        return messages["content"]
    return question


def _tool(function: Mapping[str, Any]) -> Json:
    own = function["function"] if isinstance(function.get("function"), Mapping) else function
    schema = _schema(own.get("parameters") or {})
    told = {**own, "name": _name(str(own["name"])), "parameters": {"properties": {}, **schema, "type": "object"}}
    return {"type": "function", "function": told}


def _name(name: str) -> str:
    """The API takes letters, digits, _ and - only."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)


def _schema(said: Mapping[str, Any]) -> Json:
    made = dict(said)
    if isinstance(said.get("type"), str):
        kind = _TYPES.get(said["type"].lower(), said["type"].lower())
        made["type"] = kind if kind in _PLAIN else "string"
    if isinstance(said.get("properties"), Mapping):
        made["properties"] = {name: _schema(each) for name, each in said["properties"].items()}
    if isinstance(said.get("items"), Mapping):
        made["items"] = _schema(said["items"])
    return made


def _call(said: Mapping[str, Any]) -> Json:
    """``{"f": {"x": [1, 2], "unit": ["km", ""]}}`` → ``{"name": "f", "args": {"x": 1}, "accept": …}``: of values that
    will do the first, and no argument that may be left out."""
    if "name" in said:
        return {**said, "name": _name(str(said["name"]))}
    ((name, listed),) = said.items()
    return {"name": _name(name), "args": _firsts(listed), "accept": listed}


def _firsts(listed: Mapping[str, Any]) -> Json:
    made = {}
    for name, options in listed.items():
        if not isinstance(options, list) or not options:  # an empty list stands for itself
            made[name] = _first(options)
        elif "" not in options:
            made[name] = _first(options[0])
    return made


def _first(value: Any) -> Any:
    """Objects inside hold lists of values again."""
    if isinstance(value, Mapping):
        return _firsts(value)
    return [_first(each) for each in value] if isinstance(value, list) else value
