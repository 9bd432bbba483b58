"""A server's text does not command the terminal."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchwright.cli.text import clean, json_text, one_line


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07after", "after"),
        ("\x1b]8;;https://evil\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1b]52;c;ZXZpbA==\x07copied", "copied"),
        ("\x9b2Jwiped", "wiped"),
        ("\x9d0;t\x9cx", "x"),
        ("over\rwritten\x08", "overwritten"),
        ("\x1bPdevice\x1b\\x", "x"),
        ("\x1b", ""),
        ("a\u202egpj.exe", "agpj.exe"),
        ("tab\tand\nline", "tab\tand\nline"),
        ("ünïcode ✓ 漢字", "ünïcode ✓ 漢字"),
        ("lone \ud800", "lone ?"),
    ],
)
def test_it_takes_control_codes_out(text: str, left: str) -> None:
    assert clean(text) == left


@given(st.text())
def test_nothing_is_left_that_a_terminal_obeys(text: str) -> None:
    assert not any((ord(sign) < 32 and sign not in "\n\t") or 0x7F <= ord(sign) <= 0x9F for sign in clean(text))


@given(st.text())
def test_json_says_the_same_without_raw_controls(text: str) -> None:
    made = json_text({"text": text})
    assert json.loads(made) == {"text": text}
    assert not any(ord(sign) < 32 or 0x7F <= ord(sign) <= 0x9F for sign in made)
    made.encode("utf-8")


def test_one_line_is_one_line() -> None:
    assert one_line("a\n\n b\x1b[2J", 10) == "a b"
    assert one_line("x" * 50, 10) == "x" * 9 + "…"
