"""The lists of what harnesses ship: whole, of the releases that they name, and known to the catalogue's entries."""

import pytest

from registry.catalog import Entry, all_entries
from registry.catalog.harness_tasks import harnesses, package_of, tasks_of
from scripts import harness_tasks
from tests.factories import wheels

LISTED = ("inspect", "lighteval", "lmeval")
COMPUTED = {"lcb:codegeneration_release_latest"}  # made by a loop in the package, so that the list lacks it
LEAST = {"inspect": 150, "lighteval": 200, "lmeval": 10_000}


def test_it_ships_three_lists() -> None:
    assert harnesses() == LISTED
    assert tasks_of("harbor") == {}
    assert package_of("harbor") is None


@pytest.mark.parametrize("harness", LISTED)
def test_it_knows_a_release_with_its_tasks(harness: str) -> None:
    package = package_of(harness)
    assert package is not None
    assert (package.name, package.version) == harness_tasks.RELEASES[harness]
    assert wheels.HASHES[f"{package.name}=={package.version}"] == package.sha256
    assert len(tasks_of(harness)) >= LEAST[harness]


def test_it_tells_where_the_rows_of_a_task_are() -> None:
    task = tasks_of("lmeval")["arc_challenge"]
    assert (task.datasets, task.config, task.split) == (("allenai/ai2_arc",), "ARC-Challenge", "test")
    assert (task.output, task.count) == ("multiple_choice", 0)
    group = tasks_of("lmeval")["mmlu"]
    assert (group.count, group.datasets) == (57, ("cais/mmlu",))
    assert "mmlu_anatomy" in {name for name in tasks_of("lmeval") if name.startswith("mmlu_an")}
    task = tasks_of("inspect")["gsm8k"]
    assert (task.datasets, task.config, task.split) == (("openai/gsm8k",), "main", "test")


@pytest.mark.parametrize("entry", all_entries(), ids=lambda entry: str(entry.slug))
def test_an_entry_names_only_tasks_that_there_are(entry: Entry) -> None:
    told = [one for part in (None, *(one.slug for one in entry.parts)) for one in entry.harness_of(part).items()]
    named = {(harness, one["task"].removeprefix("inspect_evals/")) for harness, one in told if harness in LISTED}
    assert not {(harness, task) for harness, task in named if task not in tasks_of(harness) and task not in COMPUTED}


@pytest.mark.long
@pytest.mark.parametrize("harness", LISTED)
def test_it_is_what_the_wheel_holds(harness: str) -> None:
    path = harness_tasks.OUT / f"{harness}.json"
    made = harness_tasks.of_wheel(harness, wheels.wheel(*harness_tasks.RELEASES[harness]))
    assert made == path.read_text(encoding="utf-8")
