"""What an answer sets apart from its prose: fenced blocks, and JSON values inside a text."""

import ast
import json
import re
import warnings

from registry.graders.kit.common import finite, parsed, unheard

# --- kit ---

OPENS = re.compile(r"(?P<mark>`{3,}|~{3,})[ \t]*(?P<language>[A-Za-z][\w+#.-]*)?(?P<rest>.*)")
JSON_TRIES = 2_000  # brackets at which a JSON value is looked for, from the end
JSON_WORK, JSON_DEEP = 20_000_000, 100_000  # characters read in vain until that ends; what a nesting too deep counts as
CODE_LIMIT = 200_000  # characters: parsing takes memory in proportion, and a time limit can't interrupt it
PYTHON = ("python", "py", "python3", "py3", "python2", "ipython", "pycon")


def fenced(text):
    """[(language in lower case or "", body)] of the fenced blocks in order. One that never closes ends the text."""
    found, mark, language, body = [], "", "", []
    for line in text.splitlines():
        if not mark:
            opens = OPENS.search(line)
            if opens is None:
                continue
            mark, language, rest = opens.group("mark"), opens.group("language") or "", opens.group("rest")
            if mark in rest or (rest.strip() and not language):  # a block of one line, or text right behind the mark
                inside, closes, _ = rest.partition(mark)
                body = [inside if inside.strip() else language]
                language = language if inside.strip() else ""
                if closes:
                    found.append((language.lower(), body[0].strip()))
                    mark, body = "", []
            elif rest.strip() and rest.strip()[0] in "{[\"'(":
                body = [rest.strip()]
        elif line.strip().startswith(mark) and not line.strip().strip(mark[0]):
            found.append((language.lower(), "\n".join(body)))
            mark, body = "", []
        elif line.rstrip().endswith(mark) and line.count(mark) == 1:
            found.append((language.lower(), "\n".join([*body, line.rstrip()[: -len(mark)]])))
            mark, body = "", []
        else:
            body.append(line)
    if mark and any(line.strip() for line in body):
        found.append((language.lower(), "\n".join(body)))
    return found


def json_in(text):
    """(True, value) of the JSON that a text gives: all of it, its last fenced block that is JSON, else the last
    object or list inside it. (False, None) where there is none."""
    ok, value = parsed(text.strip())
    if ok:
        return True, value
    for _, body in reversed(fenced(text)):
        ok, value = parsed(body.strip())
        if ok and isinstance(value, (dict, list)):
            return True, value
    return last_json(text)


def last_json(text):
    """The outermost object or list that ends last."""
    decoder, found, at, work = json.JSONDecoder(parse_constant=unheard, parse_float=finite), (False, None), 0, JSON_WORK
    for begins in last_brackets(text):
        if begins < at or work < 0:
            continue  # inside a value that was read; or too much was looked through in vain
        try:
            value, at = decoder.raw_decode(text, begins)
        except json.JSONDecodeError as fault:
            work -= fault.pos - begins
            continue
        except (ValueError, RecursionError):
            work -= JSON_DEEP
            continue
        if isinstance(value, dict) or len(value) > 1 or (value and not isinstance(value[0], (int, float))):
            found = True, value  # [1] alone is a footnote
    return found


def last_brackets(text):
    """Where the last opening brackets of a text stand, in order; no more than are worth a try."""
    found, curly, square = [], text.rfind("{"), text.rfind("[")
    while max(curly, square) >= 0 and len(found) < JSON_TRIES:
        found.append(max(curly, square))
        if curly > square:
            curly = text.rfind("{", 0, curly)
        else:
            square = text.rfind("[", 0, square)
    return found[::-1]


def code_in(text, language="python"):
    """The code that a text gives: its last block in ``language``, else its last block that names none, else, where
    no block stands there, a text that is nothing but Python. None where there is no code. "": a block in whatever."""
    blocks = fenced(text)
    names = PYTHON if language in PYTHON else (language.lower(),)
    wanted_ones = [body for named, body in blocks if named in names or not language]
    found = wanted_ones or [body for named, body in blocks if not named]
    if found:
        return found[-1]
    return text if not blocks and language in PYTHON and is_program(text) else None


def is_program(text):
    """Whether a text is Python that does something: a name or a number alone is none."""
    # As the body of one interactive statement: a fault in a whole file makes Python look for that file on disk.
    inside = "".join(f" {line}\n" for line in text.splitlines())
    if len(text) > CODE_LIMIT or not text.strip():
        return False
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            (whole,) = ast.parse(f"if 1:\n{inside}", mode="single").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return any(not isinstance(one, ast.Expr) or isinstance(one.value, (ast.Call, ast.Await)) for one in whole.body)
