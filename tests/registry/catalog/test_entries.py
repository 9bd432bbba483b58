"""Every entry of the catalogue: whole, without contradictions, and with graders that compile."""

import re
from collections import Counter
from pathlib import Path

import pytest

from kernel.errors import DomainError
from registry.catalog import CatalogFault, Entry, all_entries, get
from registry.catalog.loading import read
from registry.graders import validate_grader
from registry.graders.compiling import compile_grader
from registry.graders.schema import KINDS as GRADER_KINDS

ENTRIES = all_entries()
GUIDE = ("mmlu", "mmlu-pro", "gsm8k", "humaneval", "bfcl-v4")


def each(entries: tuple[Entry, ...] = ENTRIES) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("entry", entries, ids=[entry.slug for entry in entries])


def folded(*names: str) -> set[str]:
    return {name.casefold() for name in names}


def test_it_knows_the_well_known() -> None:
    assert len(ENTRIES) >= 40
    assert {entry.slug for entry in ENTRIES} >= set(GUIDE)
    assert len(get("mmlu").parts) == 57
    with pytest.raises(KeyError, match="nonsense"):
        get("nonsense")


@each()
def test_it_says_what_an_entry_is(entry: Entry) -> None:
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", entry.slug)
    assert all((entry.name, entry.licence, entry.metric))
    assert entry.description.endswith(".")
    assert entry.chance is None or 0 <= entry.chance <= 1
    assert entry.locators or entry.harness or any(part.overrides.get("harness") for part in entry.parts)
    assert entry.grader is None or entry.locators, "a grader without rows"
    assert bool(entry.grader) or entry.notes, "an entry that we can't score says why"


@each()
def test_it_grades_every_part_by_a_grader_that_compiles(entry: Entry) -> None:
    for part in (None, *(part.slug for part in entry.parts)):
        grader = entry.grader_of(part)
        if grader is None or (grader["kind"] == "code" and "code" not in GRADER_KINDS):
            continue
        compiled = compile_grader(validate_grader(grader))
        compile(compiled, entry.slug, "exec")


@each()
def test_it_finds_the_rows_of_every_part(entry: Entry) -> None:
    for part in (None, *(part.slug for part in entry.parts)):
        for place in entry.locators_of(part):
            for one in place.get("of", [place]):
                assert one["fields"]["input"], (entry.slug, part)
                assert one.get("dataset") or one.get("path") or one["url"].startswith("https://"), (entry.slug, part)
                assert not re.search(r"{(slug|words)}", str(one)), "a place that is not filled"


@each()
def test_it_names_no_part_twice(entry: Entry) -> None:
    names = Counter(name for part in entry.parts for name in folded(part.slug, part.name, *part.aliases))
    assert [name for name, times in names.items() if times > 1] == []


def test_it_shares_no_name_but_those_that_must_be_asked_about() -> None:
    names = Counter(name for entry in ENTRIES for name in folded(entry.slug, entry.name, *entry.aliases))
    assert {name for name, times in names.items() if times > 1} == {"aime", "arc", "ai2 arc", "ai2 reasoning challenge"}


def test_it_narrows_places_harnesses_and_rows_to_a_part() -> None:
    mmlu = get("mmlu")
    assert mmlu.locators_of("anatomy")[0]["config"] == "anatomy"
    assert mmlu.locators_of("anatomy")[1]["where"] == {"subject": "anatomy"}
    assert mmlu.locators_of()[0]["config"] == "all"
    assert mmlu.harness_of()["inspect"] == {"task": "inspect_evals/mmlu_0_shot"}
    assert mmlu.harness_of("anatomy") == {
        "inspect": {"task": "inspect_evals/mmlu_0_shot", "args": {"subjects": ["anatomy"]}},
        "lmeval": {"task": "mmlu_anatomy"},
        "lighteval": {"task": "mmlu:anatomy"},
    }
    assert get("gpqa").harness_of("diamond")["inspect"] == {"task": "inspect_evals/gpqa_diamond"}
    assert "inspect" not in get("gpqa").harness_of("main")
    with pytest.raises(KeyError, match="known: abstract_algebra"):
        mmlu.locators_of("basket_weaving")


def test_it_gathers_a_whole_from_its_parts() -> None:
    whole = get("bfcl-v4").locators_of()[0]
    assert whole["source"] == "several"
    assert [one["part"] for one in whole["of"]][:2] == ["parallel", "parallel_multiple"]
    assert "multi_turn_base" not in {one["part"] for one in whole["of"]}
    assert get("bfcl-v4").grader_of("multi_turn_base") is None
    assert get("bfcl-v4").grader_of("parallel") == {"kind": "tool_calls"}


GOOD = """
[[benchmark]]
slug = "capitals"
name = "Capitals"
kind = "free_text"
description = "Capitals of countries."
licence = "MIT"
metric = "accuracy"
fields = {input = {question = "q"}, expected = "a"}
grader = {kind = "exact"}
locators = [{source = "url", url = "https://example.org/capitals.csv"}]
"""


def test_it_reads_an_entry(tmp_path: Path) -> None:
    (tmp_path / "one.toml").write_text(GOOD)
    entry = next(read(tmp_path / "one.toml"))
    assert entry.fields == {
        "task_id": None, "input": {"question": "q"}, "choices": None, "expected": "a", "prepare": None,
        "solution": None,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("was", "is_now", "said"),
    [
        ('"free_text"', '"poetry"', "kind is one of"),
        ('licence = "MIT"', "", "licence"),
        ("metric", "metrik", "unknown fields"),
        ('source = "url"', 'source = "ftp"', "source: unknown ftp"),
        ("url = ", "path = ", "locator of url: unknown path"),
        ('expected = "a"', 'expect = "a"', "fields: unknown expect"),
        ('expected = "a"', 'expected = "a", prepare = "magic"', "preparation: unknown magic"),
        ("[[benchmark]]", "[[benchmark]", "one.toml"),
        ("grader", "harness = {promptfoo = 'x'}\ngrader", "harness: unknown promptfoo"),
        ("grader", "parts = [{slug = 'x', colour = 'red'}]\ngrader", "part x: unknown colour"),
    ],
)
def test_it_refuses_what_can_not_be_right(tmp_path: Path, was: str, is_now: str, said: str) -> None:
    (tmp_path / "one.toml").write_text(GOOD.replace(was, is_now, 1))
    with pytest.raises(CatalogFault, match=r"one\.toml") as fault:
        list(read(tmp_path / "one.toml"))
    assert said in str(fault.value)


def test_it_would_notice_a_grader_that_is_none() -> None:
    with pytest.raises(DomainError):
        validate_grader({"kind": "telepathy"})
