"""tool_calls: the model calls the expected functions with acceptable arguments."""

import ast
import json
import re
import warnings

from registry.graders.kit.common import (
    GRADER,
    answer_text,
    at_path,
    finite,
    missed,
    parsed,
    shown,
    unheard,
    verdict,
    wanted,
    wrong,
)
from registry.graders.kit.fences import CODE_LIMIT, JSON_DEEP, JSON_WORK, fenced
from registry.graders.kit.prompting import reply_message, reply_text

# --- kit ---

TYPES = {"dict": "object", "float": "number", "double": "number", "long": "integer", "tuple": "array",
         "list": "array", "set": "array", "bool": "boolean", "str": "string", "int": "integer"}  # fmt: skip
PLAIN_TYPES = ("object", "array", "string", "number", "integer", "boolean", "null")
KEPT = ("type", "properties", "required", "items", "enum", "anyOf", "minimum", "maximum", "minItems", "maxItems")
LOOSE = re.compile(r"[ ,./\-_*^]")
ACTION = re.compile(r"^[ \t]*Action:[ \t]*([\w.-]+)[ \t]*\n[ \t]*Action Input:[ \t]*(\{.*\})?[ \t]*$", re.MULTILINE)
CALL_BEGINS = re.compile(r'\[\s*\{\s*"|\{\s*"')
CODE = re.compile(r"[\[(\s]*[^\W\d][\w.]*\s*\(")


def functions_of(input):
    """The functions of an input, bare ({name, description, parameters}), from OpenAI's or BFCL's shape."""
    try:
        value = at_path(input, GRADER["functions_field"])
    except KeyError:
        value = input.get("function") or input.get("tools") if isinstance(input, dict) else None
    found = []
    for one in value if isinstance(value, list) else [value]:
        if isinstance(one, dict):
            found.append(one["function"] if isinstance(one.get("function"), dict) else one)
    return found


def safe_names(functions):
    """sent name -> own name: letters, digits, _ and - only, each once."""
    names = {}
    for function in functions:
        own = str(function.get("name", ""))
        safe = base = re.sub(r"[^A-Za-z0-9_-]", "_", own)[:64] or "function"
        count = 1
        while safe in names:
            count += 1
            safe = f"{base[:60]}_{count}"
        names[safe] = own
    return names


def plain_schema(schema, described=True):
    """A JSON Schema that providers take: their type names, nothing that is no schema."""
    if not isinstance(schema, dict):
        return {}
    made = {}
    for key in (*KEPT, "description") if described else KEPT:
        if key in schema:
            made[key] = schema[key]
    kind = schema.get("type")
    if isinstance(kind, str):
        kind = TYPES.get(kind.lower(), kind.lower())
        made["type"] = kind if kind in PLAIN_TYPES else "string"
    if isinstance(schema.get("properties"), dict):
        made["properties"] = {name: plain_schema(one, described) for name, one in schema["properties"].items()}
        made.setdefault("type", "object")
    if "items" in schema:
        made["items"] = plain_schema(schema["items"], described)
    if isinstance(schema.get("anyOf"), list):
        made["anyOf"] = [plain_schema(one, described) for one in schema["anyOf"]]
    if not isinstance(made.get("required", []), list):
        made.pop("required")
    if made.get("type") == "array" and "items" not in made:
        made["items"] = {}
    return made


def parameters_of(function, described=True):
    schema = plain_schema(function.get("parameters") or {"type": "object", "properties": {}}, described)
    schema["type"] = "object"
    schema.setdefault("properties", {})
    return schema


def request_for(input, messages):
    """The request's fields: tools, or one JSON schema that allows nothing but calls."""
    functions = functions_of(input)
    names = safe_names(functions)
    if GRADER["mode"] == "tools":
        tools = []
        for name, function in zip(names, functions, strict=True):
            told = {"name": name, "parameters": parameters_of(function)}
            if isinstance(function.get("description"), str):
                told["description"] = function["description"]
            tools.append({"type": "function", "function": told})
        extra = {"tools": tools, "tool_choice": GRADER["tool_choice"]} if tools else {}
        return {"messages": messages, **extra}
    told = [json.dumps({**one, "name": name}, ensure_ascii=False) for name, one in zip(names, functions, strict=True)]
    system = " ".join(["You call functions.", *(f"Function: {one}" for one in told)])
    if messages[0]["role"] == "system":
        system, messages = f"{system}\n\n{messages[0]['content']}", messages[1:]
    messages = [{"role": "system", "content": system}, *messages]
    schema = calls_schema([call_schema(name, function) for name, function in zip(names, functions, strict=True)])
    form = {"type": "json_schema", "json_schema": {"name": "call", "schema": schema}}
    return {"messages": messages, "response_format": form}


def call_schema(name, function):
    return {
        "type": "object",
        "properties": {"name": {"const": name}, "arguments": parameters_of(function, described=False)},
        "required": ["name", "arguments"],
    }


def calls_schema(each):
    one = each[0] if len(each) == 1 else {"anyOf": each}
    return one if GRADER["calls"] == "one" else {"type": "array", "items": one, "minItems": 1}


def output_of(reply, input):
    """The output: the calls as JSON text ``[{"name", "args"}]`` with the functions' own names, else what was said."""
    names = safe_names(functions_of(input))
    calls = told_calls(reply_message(reply).get("tool_calls"))
    if not calls:
        text = reply_text(reply)
        try:
            calls = calls_in(text) if GRADER["accept_text"] or GRADER["mode"] == "json_schema" else None
        except ValueError:  # too long to be read: grading says so
            return text
        if not calls:
            return text
    return json.dumps([{"name": names.get(name, name), "args": args} for name, args in calls], ensure_ascii=False)


def told_calls(value):
    """(name, args) of a reply's tool calls; arguments that are no JSON object stay as they are."""
    found = []
    for one in value if isinstance(value, list) else []:
        call = one_call(one)
        if call is not None:
            found.append(call)
    return found


def one_call(value):
    """(name, args) of one call in any of the usual shapes, or None."""
    if not isinstance(value, dict):
        return None
    inner = value.get("function")
    if isinstance(inner, dict):
        value = inner
    name = value.get("name", inner if isinstance(inner, str) else None)
    if isinstance(name, str):
        for key in ("args", "arguments", "parameters"):
            if key in value:
                return name, arguments(value[key])
        return name, {}
    if len(value) == 1:
        ((name, args),) = value.items()
        if isinstance(args, dict):
            return name, args
    return None


def arguments(value):
    if isinstance(value, str):
        ok, read = parsed(value) if value.strip() else (True, {})
        return read if ok else value
    return {} if value is None else value


def calls_in(output):
    """The calls that an output makes, as [(name, args)]; None where it makes none that can be read."""
    if isinstance(output, (list, dict)):
        return calls_from(output)
    text = answer_text(output).removeprefix("<|python_tag|>")
    tags = [piece.partition("</function>")[0].partition(">") for piece in text.split("<function=")[1:]]
    named = [*((name, told) for name, _, told in tags), *ACTION.findall(text)]
    if named:
        return all_named(named)
    tagged = [piece.partition("</tool_call>") for piece in text.split("<tool_call>")[1:]]
    if any(closed for _, closed, _ in tagged):
        return all_tagged([piece for piece, _, _ in tagged])
    for piece in [text, *(body for _, body in reversed(fenced(text)))]:
        ok, value = parsed(piece.strip())
        found = calls_from(value) if ok else from_code(piece.strip())
        if found is not None:
            return found
    return embedded(text)


def all_named(pairs):
    """Calls whose names stand apart from their arguments, which are JSON objects."""
    found = []
    for name, told in pairs:
        ok, args = parsed(told.strip() or "{}")
        if not ok or not isinstance(args, dict):
            return None
        found.append((name, args))
    return found


def all_tagged(pieces):
    found = []
    for piece in pieces:
        ok, value = parsed(piece.strip())
        calls = calls_from(value) if ok else None
        if calls is None:
            return None
        found += calls
    return found


def calls_from(value):
    if isinstance(value, dict):
        for key in ("tool_calls", "calls"):
            if isinstance(value.get(key), list):
                return calls_from(value[key])
        value = [value]
    if not isinstance(value, list):
        return None
    found = [one_call(one) for one in value]
    return None if None in found else found


def embedded(text):
    """The first JSON value inside a text that is a call or a list of calls."""
    decoder, work = json.JSONDecoder(parse_constant=unheard, parse_float=finite), JSON_WORK
    for begins in CALL_BEGINS.finditer(text):
        try:
            value, _ = decoder.raw_decode(text, begins.start())
        except (ValueError, RecursionError) as fault:
            work -= getattr(fault, "pos", begins.start() + JSON_DEEP) - begins.start()
            if work < 0:
                return None
            continue
        found = calls_from(value)
        if found:
            return found
    return None


def from_code(text):
    """Calls written as Python: ``[f(a=1), g(b="x")]``, or one a line. Nothing is run. ValueError where they are too
    long to read."""
    if not CODE.match(text) or (len(text) > CODE_LIMIT and text[-1] not in ")]"):
        return None
    if len(text) > CODE_LIMIT:
        raise ValueError(f"Calls written as Python are read up to {CODE_LIMIT:,} characters; these have {len(text):,}.")
    whole = python_calls(text)
    if whole is not None or not re.search(r"[\n;]", text.strip()):
        return whole
    found = [python_calls(line) for line in re.split(r"[\n;]+", text.strip()) if line.strip()]
    return None if None in found else [call for calls in found for call in calls]


def python_calls(text):
    """The calls of one expression: a call, or a list of calls and nothing else."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text.strip(), mode="eval").body
        nodes = tree.elts if isinstance(tree, (ast.List, ast.Tuple)) else [tree]
        found = [(ast.unparse(node.func), keywords(node)) for node in nodes if isinstance(node, ast.Call)]
    except (SyntaxError, ValueError, RecursionError, MemoryError, TypeError):
        return None
    return found if found and len(found) == len(nodes) else None


def keywords(node):
    if node.args or any(one.arg is None for one in node.keywords):
        raise ValueError("only named arguments can be compared")
    values = {one.arg: ast.literal_eval(one.value) for one in node.keywords}
    return json.loads(json.dumps(values, allow_nan=False))


def grade(output, expected):
    want = expected_calls(expected)
    got = calls_in(output)
    text = answer_text(output)
    if got is None:
        if want == [] and text:
            return verdict(1, "Right: no function was called.", extracted=text)
        return missed(text, "The output makes no function call that can be read.")
    if want is None:
        return wrong(text, "The task's expected calls can't be read.", got)
    if any(not isinstance(args, dict) for _, args in got):
        return verdict(0, "The arguments of a call are not a JSON object.", "format_miss", text)
    hits, why = matched(got, want)
    named = json.dumps([{"name": name, "args": args} for name, args in got], ensure_ascii=False)
    if hits == len(want) == len(got):
        return verdict(1, "The calls are right.", extracted=named)
    if hits and GRADER["partial"]:
        return verdict(hits / max(len(want), len(got)), why, "wrong", named)
    return verdict(0, why, "wrong", named)


def expected_calls(expected):
    """[(name, args, listed)]; ``listed`` ({name: args}, or ``accept``): each argument has a list of values. None if
    unreadable."""
    value = wanted(expected)
    found = []
    for one in value if isinstance(value, list) else [value]:
        call = one_call(one)
        if call is None or not isinstance(call[1], dict):
            return None
        if isinstance(one.get("accept"), dict):
            found.append((call[0], one["accept"], True))
            continue
        listed = len(one) == 1 and "name" not in one
        found.append((*call, listed))
    return found


def matched(got, want):
    """(how many expected calls are met, each by a call of its own; what is amiss)."""
    amiss = f"Expected {len(want)} calls, got {len(got)}." if len(got) != len(want) else ""
    if GRADER["order"] == "same":
        pairs = [difference(call, goal) for call, goal in zip(got, want, strict=False)]
        hits = sum(pair is None for pair in pairs)
        return hits, amiss or next((pair for pair in pairs if pair), "")
    taken = {}
    hits = sum(assign(at, got, want, taken, set()) for at in range(len(want)))
    if hits < len(want) and got:
        lacking = next(at for at in range(len(want)) if at not in taken.values())
        free = [call for at, call in enumerate(got) if at not in taken] or got
        amiss = amiss or difference(closest(free, want[lacking]), want[lacking]) or ""
    return hits, amiss


def assign(at, got, want, taken, tried):
    """Give expected call ``at`` a call of its own, moving others where that helps (augmenting path)."""
    for index, call in enumerate(got):
        if index in tried or difference(call, want[at]) is not None:
            continue
        tried.add(index)
        if index not in taken or assign(taken[index], got, want, taken, tried):
            taken[index] = at
            return True
    return False


def closest(calls, goal):
    return next((call for call in calls if same_name(call[0], goal[0])), calls[0])


def same_name(left, right):
    return left == right or re.sub(r"[^A-Za-z0-9_-]", "_", left) == re.sub(r"[^A-Za-z0-9_-]", "_", right)


def difference(call, goal):
    """None where the call is the expected one, else what differs."""
    (name, args), (want_name, want_args, listed) = call, goal
    if not same_name(name, want_name):
        return f"Expected a call of {shown(want_name)}, got {shown(name)}."
    for key in args:
        if key not in want_args:
            return f"{shown(name)}: the argument {shown(key)} was not expected."
    for key, value in want_args.items():
        options = value if listed and isinstance(value, list) and value else [value]  # [] stands for itself
        if key not in args:
            if not (listed and "" in options):
                return f"{shown(name)}: the argument {shown(key)} is missing."
        elif not any(acceptable(args[key], option, listed) for option in options):
            return f"{shown(name)}: {shown(key)} is {shown(args[key])}; expected {shown(value)}."
    return None


def acceptable(got, want, listed):
    """Whether a value is the wanted one. In lists of acceptable values, objects hold such lists again."""
    if isinstance(want, dict):
        if not isinstance(got, dict) or any(key not in want for key in got):
            return False
        return all(acceptable_key(got, key, value, listed) for key, value in want.items())
    if isinstance(want, list):
        return (
            isinstance(got, list)
            and len(got) == len(want)
            and all(acceptable(one, goal, listed) for one, goal in zip(got, want, strict=True))
        )
    if isinstance(want, str) and isinstance(got, str):
        loose = GRADER["strings"] == "loose" or (GRADER["strings"] == "auto" and listed)
        return loose_text(got) == loose_text(want) if loose else got == want
    if isinstance(want, bool) or isinstance(got, bool) or want is None or got is None:
        return got is want
    return isinstance(got, (int, float)) and isinstance(want, (int, float)) and got == want


def acceptable_key(got, key, value, listed):
    options = value if listed and isinstance(value, list) and value else [value]  # [] stands for itself
    if key not in got:
        return listed and "" in options
    return any(acceptable(got[key], option, listed) for option in options)


def loose_text(text):
    return LOOSE.sub("", text).replace("'", '"').casefold()
