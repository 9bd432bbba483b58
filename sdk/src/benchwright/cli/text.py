"""Text of others, made safe for a terminal; JSON, safe as well."""

import json
import re
from typing import Any

# Whole escape sequences first (CSI, OSC and the like up to their end), then what is left of control signs,
# and the signs that turn the reading direction.
_CSI = r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"
_STRING = r"(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"
_SEQUENCES = re.compile(rf"{_CSI}|{_STRING}|\x1b[ -/]*[0-~]")
_TURNING = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
_CONTROLS = re.compile(f"[\x00-\x08\x0b-\x1f\x7f-\x9f{_TURNING}]")
_ESCAPED = re.compile(f"[\x7f-\x9f\u2028\u2029{_TURNING}\ud800-\udfff]")


def clean(text: str) -> str:
    """``text`` without anything a terminal would obey; line feeds and tabs stay."""
    return _CONTROLS.sub("", _SEQUENCES.sub("", text)).encode("utf-8", "replace").decode("utf-8")


def one_line(text: str, width: int = 0) -> str:
    """``text`` cleaned, on one line, cut to ``width`` characters when that is given."""
    flat = " ".join(clean(text).split())
    return flat if not width or len(flat) <= width else flat[: width - 1] + "…"


def json_text(value: Any, indent: int | None = None) -> str:
    """JSON whose strings hold no raw control sign."""
    made = json.dumps(value, ensure_ascii=False, indent=indent, default=str)
    return _ESCAPED.sub(lambda found: f"\\u{ord(found.group()):04x}", made)


def words(value: Any) -> str:
    """Plain JSON as people read it in a cell: ``phase find, error (code no_model, message …)``."""
    if isinstance(value, dict):
        return ", ".join(f"{name} {_inner(each)}" for name, each in value.items())
    if isinstance(value, list):
        return ", ".join(_inner(each) for each in value)
    return value if isinstance(value, str) else json_text(value)


def _inner(value: Any) -> str:
    return f"({words(value)})" if isinstance(value, dict | list) else words(value)
