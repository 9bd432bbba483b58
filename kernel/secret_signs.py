"""What looks like a secret: by the prefixes that providers give their keys, by names beside random text. Pure.

``refuse`` keeps keys out of what is stored (requests, metadata, code, rows); ``redact`` takes them out of what is shown
or logged. Neither knows any stored value: only the gateway and the egress proxy do, and they compare with it.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from math import log2
from typing import Any, NamedTuple

from kernel.errors import DomainError

REDACTED = "[redacted]"
LEAST_BITS = 3.0  # per character; "sk-xxxxxxxx" and "sk-your-key-here-please" lie below or are words
LEAST_BITS_NAMED = 3.5  # where only a name beside it speaks for a secret
_PLACEHOLDER = re.compile(
    r"(?i)example|your|placeholder|dummy|redacted|changeme|insert|xxxx|\.\.\.|1234567890|abcdefgh"
)


class Sign(NamedTuple):
    """The group ``key`` of ``form`` is the random part."""

    what: str
    form: re.Pattern[str]


def _sign(what: str, form: str) -> Sign:
    # An escape of JSON before it (a line break, say) is no part of the word: rows are read as they were written.
    return Sign(what, re.compile(r"(?:(?<![A-Za-z0-9_])|(?<=\\[bfnrt]))" + form + r"(?![A-Za-z0-9])"))


# Each begins with one of _HEADS or holds one of _MARKS: what has neither is not looked at any closer.
# fmt: off
_HEADS = frozenset((
    "sk-", "csk", "gsk", "hf_", "xai", "ppl", "tgp", "fw_", "nva", "r8_", "e2b", "tvl", "ghp", "gho", "ghu", "ghs",
    "ghr", "git", "glp", "AKI", "ASI", "AIz", "GOC", "xox", "sk_", "rk_", "whs", "npm", "pyp", "bw_",
))
# fmt: on
_MARKS = ("PRIVATE KEY-----", "hooks.slack.com/", "ya29.", "bwk1.", "bwe1.", "SG.")
_WORD = re.compile(r"[A-Za-z0-9_-]{20,}")
SIGNS = (
    _sign("an OpenRouter key", r"sk-or-(?P<key>v\d-[0-9a-f]{32,})"),
    _sign("an Anthropic key", r"sk-ant-(?P<key>[a-z]{2,8}\d\d-[\w-]{40,})"),
    _sign("an OpenAI key", r"sk-(?:proj|svcacct|admin|None)-(?P<key>[\w-]{32,})"),
    _sign("a provider's key", r"c?sk-(?P<key>[A-Za-z0-9]{32,})"),
    _sign("a Groq key", r"gsk_(?P<key>[A-Za-z0-9]{40,})"),
    _sign("a Hugging Face token", r"hf_(?P<key>[A-Za-z0-9]{30,})"),
    _sign("an xAI key", r"xai-(?P<key>[A-Za-z0-9]{40,})"),
    _sign("a Perplexity key", r"pplx-(?P<key>[A-Za-z0-9]{40,})"),
    _sign("a Together key", r"tgp_v1_(?P<key>[\w-]{40,})"),
    _sign("a Fireworks key", r"fw_(?P<key>[A-Za-z0-9]{22,})"),
    _sign("an NVIDIA key", r"nvapi-(?P<key>[\w-]{40,})"),
    _sign("a Replicate token", r"r8_(?P<key>[A-Za-z0-9]{30,})"),
    _sign("an E2B key", r"e2b_(?P<key>[0-9a-f]{32,})"),
    _sign("a Tavily key", r"tvly-(?:dev-|prod-)?(?P<key>[A-Za-z0-9]{30,})"),
    _sign("a GitHub token", r"gh[pousr]_(?P<key>[A-Za-z0-9]{36,})"),
    _sign("a GitHub token", r"github_pat_(?P<key>\w{50,})"),
    _sign("a GitLab token", r"glpat-(?P<key>[\w-]{20,})"),
    _sign("an AWS key id", r"(?:AKIA|ASIA)(?=[A-Z]*[2-7])(?P<key>[A-Z2-7]{16})"),
    _sign("a Google key", r"AIza(?P<key>[\w-]{35})"),
    _sign("a Google client secret", r"GOCSPX-(?P<key>[\w-]{28})"),
    _sign("a Google token", r"ya29\.(?P<key>[\w-]{40,})"),
    _sign("a Slack token", r"xox[abeoprs]-(?P<key>[A-Za-z0-9-]{24,})"),
    _sign("a Slack address", r"hooks\.slack\.com/services/(?P<key>T\w+/B\w+/\w{20,})"),
    _sign("a Stripe key", r"[rs]k_live_(?P<key>[A-Za-z0-9]{20,})"),
    _sign("a signing secret", r"whsec_(?P<key>[A-Za-z0-9+/=]{24,})"),
    _sign("a SendGrid key", r"SG\.(?P<key>[\w-]{22}\.[\w-]{43})"),
    _sign("an npm token", r"npm_(?P<key>[A-Za-z0-9]{36})"),
    _sign("a PyPI token", r"pypi-(?P<key>AgE[\w-]{50,})"),
    _sign("a Benchwright token", r"bw_(?:live|test)_pat_(?P<key>[A-Za-z0-9]{38})"),
    _sign("a run's key", r"bw[ek]1\.(?P<key>[\w-]+\.(?:-?\d+\.\d+\.\d+|\w+)\.[\w-]{16,})"),
    Sign(
        "a private key",
        re.compile(
            r"-----BEGIN (?:[A-Z0-9]+ )?PRIVATE KEY-----(?P<key>[\sA-Za-z0-9+/=\\:,.-]{60,}?)"
            r"(?:-----END (?:[A-Z0-9]+ )?PRIVATE KEY-----|\Z)"
        ),
    ),
)
# Beside a name that says what it is. Not for rows: a benchmark of function calls is full of such arguments.
_NAMED = re.compile(
    r"""(?ix) (?:api[_\ -]?key|secret|token|passwd|password|credential|authorization|bearer)s? [\w-]{0,20} ["']? [ \t]*
    (?:=>|=|:|\bis\b)? [ \t]* ["']? (?:bearer\ +|basic\ +)? (?P<key>[A-Za-z0-9+/_~=-]{20,200})"""
)
_NAME = re.compile(r"(?i)api[_\ -]?key|secret|token|passwd|password|credential|authorization")
_LOGGED = (
    re.compile(r"(?i)\b(?:bearer|basic)\s+(?P<key>[A-Za-z0-9+/_.~=-]{8,})"),
    re.compile(r"(?i)(?:[?&](?:api[_\ -]?key|key|token|access_token|sig|signature)=)(?P<key>[^&\s\"']{8,})"),
    re.compile(r"://[^/\s:@]{0,100}:(?P<key>[^/\s:@]{1,200})@"),
    re.compile(r"\b(?P<key>eyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{20,})"),
)


def found(text: str) -> str | None:
    """What kind of secret stands in ``text`` by its prefix, in words; None where none does."""
    if not _suspect(text):
        return None
    for sign in SIGNS:
        if any(_random(match["key"], LEAST_BITS) for match in sign.form.finditer(text)):
            return sign.what
    return None


def _suspect(text: str) -> bool:
    """A quick look: False for nearly all texts, and never where a sign would be found."""
    for word in _WORD.findall(text):
        if word[:3] in _HEADS or word[1:4] in _HEADS:
            return True
    return any(mark in text for mark in _MARKS)


def sayable(name: object, most: int = 60) -> str:
    """A name that somebody sent, fit to be said back: on one line, at most ``most`` characters, no secret in it."""
    text = "".join(sign if sign.isprintable() else " " for sign in str(name))
    if found(text) is not None or named(text) or _random(text, LEAST_BITS_NAMED, digits=True):
        return REDACTED
    return text if len(text) <= most else text[: most - 1] + "…"


def named(text: str) -> bool:
    """Whether random text stands beside a word like ``api_key``."""
    return any(_random(match["key"], LEAST_BITS_NAMED, digits=True) for match in _NAMED.finditer(text))


def redact(text: str) -> str:
    """``text`` with what looks like a secret replaced: for whatever is stored of foreign text, or shown."""
    if _suspect(text):
        for sign in SIGNS:
            text = sign.form.sub(_shown, text)
    return text


def redact_line(text: str) -> str:
    """``redact``, and what only a log line holds: headers, addresses with passwords, signed addresses."""
    text = redact(text)
    for form in _LOGGED:
        text = form.sub(lambda match: match[0].replace(match["key"], REDACTED), text)
    return text


def redact_values(value: Any) -> Any:
    """Plain JSON, however deep, with each string redacted. Lists and objects are changed where they stand."""
    if isinstance(value, str):
        return redact(value)
    waiting = [value]  # a model's answer may be nested deeper than Python can call
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            for key in [key for key in node if _suspect(key)]:
                node[redact(key)] = node.pop(key)
        for key, item in node.items() if isinstance(node, dict) else enumerate(node if isinstance(node, list) else ()):
            if isinstance(item, str):
                if _suspect(item):
                    node[key] = redact(item)
            elif isinstance(item, dict | list):
                waiting.append(item)
    return value


def refuse(value: Any, *loc: str | int, names: bool = True) -> None:
    """DomainError ``secret_in_payload`` where a string in ``value`` (plain JSON) looks like a secret.

    ``loc`` is where ``value`` stands in the request. ``names``: also random text beside a telling name.
    """
    for place, text in _strings(value, loc):
        what = found(text)
        if what is None and names:
            beside = place[-1] if len(place) > len(loc) and isinstance(place[-1], str) else ""
            if named(text) or (_NAME.search(beside) and _random(text, LEAST_BITS_NAMED, digits=True)):
                what = "a secret"
        if what is not None:
            raise refusal(what, place, _line(text))


def _line(text: str) -> int | None:
    """In which line it stands, where there are several; None where that can't be said."""
    lines = text.splitlines()
    at = (number for number, line in enumerate(lines, 1) if found(line) or named(line))
    return next(at, None) if len(lines) > 1 else None


def refusal(what: str, loc: Sequence[str | int], line: int | None = None) -> DomainError:
    """What is said where a secret was pasted. It never quotes it."""
    where = f"line {line} looks" if line else "looks"
    return DomainError(
        "secret_in_payload",
        f"{f'Line {line}' if line else 'This'} looks like {what}, so nothing was stored. Keep it in the vault (POST "
        "/v1/secrets, or `benchwright secrets add NAME`) with a rule for its host: it is then attached on the way out, "
        "and no run, log or reader sees it. If it is made up, change it so that it no longer looks like one.",
        errors=[{"loc": list(loc), "msg": f"{where} like {what}"}],
    )


def bits(text: str) -> float:
    """Shannon's entropy in bits per character."""
    size = len(text)
    return -sum(times / size * log2(times / size) for times in Counter(text).values()) if size else 0.0


def _random(text: str, least: float, *, digits: bool = False) -> bool:
    """``digits``: they stand in several places, as in no word or identifier that people choose."""
    if _PLACEHOLDER.search(text) or bits(text) < least:
        return False
    if not digits:
        return True
    return 16 <= len(text) <= 512 and not re.search(r"\s", text) and len(re.findall(r"\d+", text)) >= 3


def _shown(match: re.Match[str]) -> str:
    whole = match[0]
    return whole.replace(match["key"], REDACTED) if _random(match["key"], LEAST_BITS) else whole


def _strings(value: Any, place: Sequence[str | int]) -> Iterator[tuple[Sequence[str | int], str]]:
    if isinstance(value, str):
        yield place, value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield place, str(key)
            yield from _strings(item, (*place, str(key)))
    elif isinstance(value, list | tuple):
        for at, item in enumerate(value):
            yield from _strings(item, (*place, at))
