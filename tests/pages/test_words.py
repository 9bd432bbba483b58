"""Numbers, times, money and foreign text as the pages write them."""

from datetime import UTC, datetime

import pytest
from django.template import Context, Template

from kernel.money import MICRO_CENTS_PER_DOLLAR
from runs.pages import words
from runs.pages.event_words import halt_words, ordinal, said


@pytest.mark.parametrize(
    ("dollars", "shown"),
    [(0, "$0.00"), (2, "$2.00"), (0.018, "$0.018"), (0.0996, "$0.10"), (0.0014, "$0.0014"), (1234.5, "$1,234.50"),
     (0.00000001, "$0.00000001"), (0.00002, "$0.00002")],
)  # fmt: skip
def test_it_writes_money_with_the_digits_that_say_something(dollars: float, shown: str) -> None:
    assert words.dollars(round(dollars * MICRO_CENTS_PER_DOLLAR)) == shown


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(0.71, "0.71 s"), (12.4, "12 s"), (60, "1 min"), (221, "3 min 41 s"), (7500, "2 h 5 min"),
     (100_000, "1 d 3 h"), (-1, "0.00 s")],
)  # fmt: skip
def test_it_writes_stretches_of_time(seconds: float, shown: str) -> None:
    assert words.span(seconds) == shown


@pytest.mark.parametrize(
    ("lo", "hi", "shown"),
    [
        (120, 240, "2 to 4 min"),
        (125, 250, "2 to 5 min"),
        (1, 4, "under 10 s"),
        (12, 30, "12 to 30 s"),
        (8000, 16000, "2 to 5 h"),
    ],
)
def test_it_gives_an_estimate_as_a_range(lo: float, hi: float, shown: str) -> None:
    assert words.about(lo, hi) == shown


def test_it_leaves_out_this_year() -> None:
    at = datetime(2026, 9, 14, 8, 40, tzinfo=UTC)
    assert words.moment(at) == "14 Sep 2026, 08:40"
    assert words.moment(at, today=at) == "14 Sep, 08:40"
    assert words.moment(None) == "–"


def test_it_shows_control_characters_as_symbols() -> None:
    assert words.visible("a\x00b\x1b[31m\x7f") == "a␀b␛[31m␡"
    assert words.visible("line\n\ttab") == "line\n\ttab"


def test_it_shows_marks_that_turn_or_hide_text() -> None:
    assert words.visible("\u202egpj.exe\u200b\ufeff") == "⟦U+202E⟧gpj.exe⟦U+200B⟧⟦U+FEFF⟧"
    assert words.visible("\ud800") == "\ufffd"


def test_it_keeps_a_name_on_one_line_and_its_marks_in_its_row() -> None:
    assert words.one_line("a\nb") == "a␊b"
    assert len(words.one_line("x" * 500)) == 160
    assert len(words.one_line("a" + "\u0301" * 100)) == 4


def test_it_escapes_and_isolates_foreign_names() -> None:
    page = Template("{% load words %}{{ name|foreign }}").render(Context({"name": "<b>\u202e"}))
    assert page == "<bdi>&lt;b&gt;⟦U+202E⟧</bdi>"


def test_it_counts_in_ordinals() -> None:
    assert [
        ordinal(n) for n in (1, 2, 3, 4, 11, 12, 13, 21, 112)
    ] == "1st 2nd 3rd 4th 11th 12th 13th 21st 112th".split()


@pytest.mark.parametrize(
    ("kind", "data", "line"),
    [
        ("ModelRetry", {"task_id": "t1", "trial": 0, "status": 429, "wait_s": 12, "try": 3, "provider": "openrouter"},
         "t1: 429 from openrouter, waits 12 s, 3rd try"),
        ("MaterializeTaskResult", {"task_id": "t1", "trial": 1, "outcome": "failed", "error_class": "wrong",
                                    "duration_ms": 920, "cost": 30_000},
         "t1, trial 2 failed (wrong), 0.92 s, $0.0003"),
        ("PhaseFailed", {"phase": "materialize", "attempt": 2, "error": {"message": "no key"}},
         "Materialize failed, attempt 2: no key"),
        ("PhaseProgress", {"done": 5, "total": 50, "estimate": {"basis": "Measured: 5 cells."}},
         "5 of 50. Measured: 5 cells."),
        ("PhaseProgress", {"done": 5, "total": 50, "rate_per_s": 2.0, "in_flight": 3},
         "5 of 50, 2.0 a second, 3 cells under way, those that wait included"),
        ("LimitWarning", {"limit": "run.cost", "message": "It may come to it."}, "run.cost: It may come to it."),
        ("RunHalted", {"halt_reason": "limit_exceeded:run.cost"}, "Stopped at its cost ceiling (run.cost)."),
        ("RunHalted", {"halt_reason": "user", "note": "enough"}, "Stopped by its owner: “enough”"),
        ("MaterializeTaskResult", {}, ""),
        ("SomethingNew", {"a": 1}, ""),
    ],
)  # fmt: skip
def test_it_says_events_in_a_line(kind: str, data: dict[str, object], line: str) -> None:
    assert said(kind, data) == line


@pytest.mark.parametrize(
    ("dollars", "unpriced", "shown"),
    [(0, 0, "$0.00"), (0.25, 0, "$0.25"), (0, 3, "price unknown"), (0.25, 3, "at least $0.25")],
)
def test_it_never_calls_an_unknown_price_nothing(dollars: float, unpriced: int, shown: str) -> None:
    assert words.spent(round(dollars * MICRO_CENTS_PER_DOLLAR), unpriced) == shown


def test_it_says_why_a_run_was_stopped() -> None:
    assert halt_words("user") == "Stopped by its owner."
    assert halt_words("user", "wrong model") == "Stopped by its owner: “wrong model”"
    assert halt_words("out of patience") == "Stopped: out of patience."
