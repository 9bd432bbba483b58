"""What the reader promises whatever it is given: no failure, no invented model, answers that count."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from registry.catalog import all_entries
from runs.finding import Known, KnownBenchmark, KnownSubset, Reading, read
from runs.finding.benchmarks import parts
from runs.finding.words import squash

NOWHERE = Known()
BOUND = Known(bound=True)
ROUTED = Known(reachable=frozenset({"openrouter"}))
WORDS = st.sampled_from(
    "run MMLU pro gsm8k and or on via OpenRouter openai/gpt-4o-mini qwen3-32b 50 samples % temperature 0 -1 v4 BFCL "
    "parallel AIME 2025 HumanEval+ https://huggingface.co/datasets/a/b a/b a@b @ / ( ) , : first 3x 前10题 "
    "抽象代数 日本語 ünï \x00 \u2028 bm_ lm-eval inspect_evals/mmlu_0_shot dataset split test DROP 1e9 ５０ "
    "99999999999999999999 questions".split(" ")
)


@settings(max_examples=150)
@given(st.one_of(st.text(max_size=200), st.lists(WORDS, max_size=12).map(" ".join)), st.booleans())
def test_it_reads_anything_without_failing(request: str, bound: bool) -> None:
    made = read(request, BOUND if bound else ROUTED)
    assert (made.source is None) == (made.problem is not None and not made.source)
    if made.problem is None:
        assert made.source is not None
        assert bound or made.sut is not None
        assert 0 < made.confidence <= 1
    else:
        assert made.problem.question
        assert all(set(choice) >= {"id", "name", "reason"} for choice in made.problem.choices)


@pytest.mark.parametrize("entry", all_entries(), ids=lambda entry: str(entry.slug))
def test_it_knows_every_entry_by_its_name_and_every_part(entry: Any) -> None:
    assert _settled(read(f"Run {entry.name} please", BOUND)) == (entry.slug, None)
    for part in entry.parts:
        said = read(f"Run {entry.name}, {part.name}", BOUND)
        assert _settled(said) == (entry.slug, part.slug), part.name
        assert _settled(read("anything", BOUND, answers=[f"catalogue:{entry.slug}/{part.slug}"])) == (
            entry.slug,
            part.slug,
        )


@pytest.mark.parametrize("entry", all_entries(), ids=lambda entry: str(entry.slug))
def test_it_never_takes_a_misspelt_name_for_another_entry(entry: Any) -> None:
    """One letter left out, doubled, or swapped with the next: this entry, or a question."""
    names = {squash(said) for one in all_entries() for said in (one.name, one.slug, *one.aliases)}
    name, others = entry.name, []
    for at in range(0, len(name) - 1):
        swapped = name[:at] + name[at + 1] + name[at] + name[at + 2 :]
        for misspelt in (swapped, name[:at] + name[at + 1 :], name[:at] + name[at] * 2 + name[at + 1 :]):
            settled = _settled(read(f"Run {misspelt} now", BOUND))
            if squash(misspelt) not in names and settled[0] != entry.slug and not isinstance(settled, str):
                others.append((misspelt, settled))
    assert not others


def _settled(made: Reading) -> tuple[str, str | None] | str:
    return made.problem.code if made.problem else (str(made.source and made.source["ref"]), made.part)


def test_it_invents_no_provider() -> None:
    made = read("Run MMLU on gpt-4o-mini", NOWHERE)
    assert made.problem is not None
    assert made.problem.code == "unclear_model"
    assert [one["id"] for one in made.problem.choices] == [
        "model:gpt-4o-mini@openai", "model:openai/gpt-4o-mini@openrouter",
    ]  # fmt: skip
    assert read("Run MMLU on openai/gpt-4o-mini", ROUTED).sut == {
        "model": "openai/gpt-4o-mini",
        "provider": "openrouter",
    }


def test_it_takes_a_connection_by_its_name() -> None:
    known = Known(connections={"Lab-GPU": "vllm"})
    assert read("GSM8K on qwen3-32b via lab-gpu", known).sut == {"model": "qwen3-32b", "connection": "Lab-GPU"}
    assert read("GSM8K on house-model via Lab-GPU", known).sut == {"model": "house-model", "connection": "Lab-GPU"}
    assert read("GSM8K, house-model@lab-gpu", known).sut == {"model": "house-model", "connection": "Lab-GPU"}


def test_it_hands_parameters_on_with_the_model() -> None:
    made = read("GSM8K on openai/gpt-4o-mini via OpenRouter at temperature 0.2", ROUTED)
    assert made.sut == {"model": "openai/gpt-4o-mini", "provider": "openrouter", "params": {"temperature": 0.2}}
    assert read("GSM8K at temperature 0.2", BOUND).sut is None


def test_it_heeds_answers_and_ignores_those_that_mean_nothing() -> None:
    words = "MMLU anatomy and GSM8K on claude-haiku-4-5"
    chosen = ["catalogue:mmlu", "model:anthropic/claude-haiku-4.5@openrouter", "limit:5"]
    made = read(words, ROUTED, answers=chosen)
    assert (made.problem, made.limit, made.part) == (None, 5, "anatomy")
    assert made.sut == {"model": "anthropic/claude-haiku-4.5", "provider": "openrouter"}
    again = read(words, ROUTED, answers=["catalogue:nonsense", "registry:bm_gone", "model:x@nowhere", "limit:many"])
    assert again.problem is not None
    assert again.problem.code == "several_benchmarks"


def test_it_prefers_the_callers_own_of_the_same_name_and_says_what_else_there_is() -> None:
    own = KnownBenchmark("bm_1", "HellaSwag", True, (KnownSubset("sub_1", "mine"),))
    made = read("Run HellaSwag", Known((own,), bound=True))
    assert made.source == {"kind": "registry", "ref": "bm_1", "subset": "sub_1", "name": "HellaSwag", "part": "mine"}
    assert [one.id for one in made.candidates] == ["registry:bm_1/sub_1", "catalogue:hellaswag"]


def test_it_tells_the_notes_of_an_entry() -> None:
    assert any("judged by a model" in note for note in read("SimpleQA", BOUND).notes)


@pytest.mark.parametrize("words", ["mmlu anatomy ", "mmlu, ", "AIME 2024 and 2025 ", "MMLU Pro law and "])
def test_it_does_not_look_longer_where_a_name_is_said_often(words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """By what it does rather than by the clock: how often it looks for parts around a name."""
    looked = []
    really = parts.said
    monkeypatch.setattr(parts, "said", lambda *args: looked.append(args[0].id) or really(*args))
    read((words * 20_000)[:20_000], BOUND)
    assert 0 < len(looked) < 40


@pytest.mark.parametrize(
    ("words", "note"),
    [
        ("MMLU high school mathmatics", "'high school mathmatics' was read as MMLU: High School Mathematics."),
        ("HumanEvl, 10 samples", "'HumanEvl' was read as HumanEval."),
    ],
)
def test_it_tells_what_it_read_as_something_that_it_does_not_quite_say(words: str, note: str) -> None:
    made = read(words, BOUND)
    assert made.problem is None
    assert note in made.notes
    assert made.candidates[0].reason == "named with a slip"
    exact = read(words.replace("mathmatics", "mathematics").replace("HumanEvl", "HumanEval"), BOUND)
    assert exact.source == made.source
    assert not [told for told in exact.notes if " was read as " in told]


def test_it_offers_the_parts_that_have_the_word_in_their_names() -> None:
    problem = read("MMLU physics", BOUND).problem
    assert problem is not None
    assert (problem.code, problem.question) == ("unclear_part", "MMLU has no part 'physics'. Which is meant?")
    parts_of_it = ["college_physics", "conceptual_physics", "high_school_physics"]
    assert [choice["id"] for choice in problem.choices] == [
        *(f"catalogue:mmlu/{one}" for one in parts_of_it),
        "catalogue:mmlu",
    ]
