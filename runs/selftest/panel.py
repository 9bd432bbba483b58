"""Answers that know nothing: a scorer that rewards one of them can be gamed."""

import json
import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from runs.selftest.gold import choice_texts

NOISE_BYTES = 100_000
PROMPT_FIELDS = ("question", "prompt", "problem", "query", "instruction", "text", "messages")


@dataclass(frozen=True)
class Dummy:
    """``may_guess``: it holds letters or words that can be right by chance; the others hold no answer at all.

    ``rows``: on how many rows it is tried at most.
    """

    name: str
    text: str
    may_guess: bool = False
    rows: int = 100


def _noise() -> str:
    """Made-up lower-case words without digits, always the same."""
    draw = random.Random(7)  # noqa: S311 - noise, no secret
    words, size = [], 0
    while size < NOISE_BYTES:
        words.append("".join(draw.choices("abcdefghijklmnopqrstuvwxyz", k=draw.randint(5, 11))))
        size += len(words[-1]) + 1
    return " ".join(words)[:NOISE_BYTES]


ECHO = "the prompt echoed"
DUMMIES = (
    Dummy("nothing", ""),
    Dummy("white space", " \n\t "),
    Dummy("{}", "{}"),
    Dummy("[]", "[]"),
    Dummy("A", "A", may_guess=True),
    Dummy("a refusal", "I cannot help with that."),
    Dummy(ECHO, "", may_guess=True),
    Dummy(":", ":"),
    Dummy("Thought process:", "Thought process:"),
    Dummy("thinking that was cut off", "<think>Let me see. The question asks for the"),
    Dummy("100 kB of noise", _noise(), may_guess=True, rows=5),
)


def output_of(dummy: Dummy, given: Any) -> str:
    """What the dummy answers to a task's input."""
    return echoed(given) if dummy.name == ECHO else dummy.text


def echoed(given: Any) -> str:
    """The question as a model was asked it, lettered choices and all."""
    if isinstance(given, str):
        return given
    parts = []
    if isinstance(given, Mapping):
        asked = next((given[name] for name in PROMPT_FIELDS if given.get(name)), None)
        parts = [_said(asked)] if asked is not None else []
        parts += [f"{chr(ord('A') + at)}. {text}" for at, text in enumerate(choice_texts(given)[:26])]
    return "\n".join(parts) if parts else json.dumps(given, ensure_ascii=False)


def _said(asked: Any) -> str:
    """Text, messages, or turns of messages, as text."""
    if isinstance(asked, list):
        return "\n".join(_said(one) for one in asked)
    if isinstance(asked, Mapping) and "content" in asked:
        return _said(asked["content"])
    return asked if isinstance(asked, str) else json.dumps(asked, ensure_ascii=False)
