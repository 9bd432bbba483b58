"""Tasks that harnesses ship: the same as an entry only with the same rows and the same name; else offered."""

import pytest

from registry.catalog.harness_tasks import HarnessTask, tasks_of
from runs.finding import shipped


def same(harness: str, name: str) -> str | None:
    found = shipped.same(tasks_of(harness)[name])
    return found and f"{found[0].id}{f'/{found[1]}' if found[1] else ''}"


@pytest.mark.parametrize(
    ("harness", "name", "entry"),
    [
        ("lmeval", "arc_challenge", "catalogue:arc-challenge"),
        ("lmeval", "arc_challenge_chat", "catalogue:arc-challenge"),
        ("lmeval", "gsm8k_cot_zeroshot", "catalogue:gsm8k"),
        ("lmeval", "mmlu_anatomy_generative", "catalogue:mmlu/anatomy"),
        ("lmeval", "hellaswag", "catalogue:hellaswag"),
    ],
)
def test_it_knows_the_same_by_rows_and_name(harness: str, name: str, entry: str) -> None:
    assert same(harness, name) == entry


@pytest.mark.parametrize(
    "name",
    ["truthfulqa_mc2", "truthfulqa_gen", "gsm8k_cot_self_consistency", "xnli_en", "humaneval_64"],
)
def test_it_takes_none_for_another(name: str) -> None:
    assert same("lmeval", name) is None


def test_no_two_tasks_of_other_rows_are_the_same_entry() -> None:
    """Over every task of lm-eval: what is the same as an entry reads the data set that the entry reads."""
    wrong = []
    for task in tasks_of("lmeval").values():
        found = shipped.same(task)
        if found is not None and found[0].entry is not None:
            places = [*found[0].entry.locators, *(found[0].entry.locators_of(found[1]) if found[1] else ())]
            held = {str(place.get("dataset", "")).lower() for place in places}
            held |= {name.rpartition("/")[2] for name in held}
            wrong += [] if set(map(str.lower, task.datasets)) <= held else [task]
    assert not wrong


def test_another_owners_rows_are_not_the_same() -> None:
    task = HarnessTask("lmeval", "gsm8k", ("somebody/gsm8k",), "main", "test", "generate_until")
    assert shipped.same(task) is None
    assert shipped.same(HarnessTask("lmeval", "gsm8k", ("gsm8k",), "main", "test", "generate_until")) is not None


def test_it_offers_entries_with_the_same_rows_and_the_rows_themselves() -> None:
    offered = shipped.offers(tasks_of("lmeval")["truthfulqa_mc2"])
    assert [one.id for one in offered] == [
        "catalogue:truthfulqa", "huggingface:truthfulqa/truthful_qa#multiple_choice/validation",
    ]  # fmt: skip
    assert offered[1].source["config"] == "multiple_choice"
    assert all(one.confidence <= 0.4 for one in offered)


def test_it_says_what_is_known() -> None:
    words = shipped.words(tasks_of("lmeval")["truthfulqa_mc2"])
    assert words.startswith("truthfulqa_mc2 is known to lm-eval 0.4.13 as a task, with rows of Hugging Face")
    assert words.endswith("nothing here scores it yet.")
    assert "as a group of 67 tasks" in shipped.words(tasks_of("lmeval")["blimp"])


def test_it_finds_a_task_by_its_name_in_any_spelling() -> None:
    found = shipped.find("Truthful-QA mc2")
    assert found is not None
    assert (found.harness, found.name) == ("lmeval", "truthfulqa_mc2")
    wanted = shipped.find("gsm8k", "lighteval")
    assert wanted is not None
    assert wanted.harness == "lighteval"
    assert shipped.find("no_such_task_anywhere") is None
    assert "arc_challenge" in shipped.near("arc_chalenge", "lmeval")
