"""Tasks that harnesses ship: which of them measure the same as an entry of the catalogue, and what else can be told.

Of the same rows alone a task is not yet the same: TruthfulQA's mc1 and mc2 read the same file. The name has to be the
entry's too, but for the words that only say how a model is asked.
"""

import re
from collections.abc import Mapping
from difflib import get_close_matches
from functools import cache

from registry.catalog import Entry
from registry.catalog.harness_tasks import HarnessTask, harnesses, package_of, tasks_of
from runs.finding.benchmarks import candidates, placed
from runs.finding.benchmarks.candidates import Candidate
from runs.finding.benchmarks.names import Target
from runs.finding.datasets import Named
from runs.finding.words import squash

CALLED = {"lmeval": "lm-eval", "inspect": "inspect_evals", "lighteval": "lighteval", "harbor": "Harbor"}
SHOWN = 6
# How a task asks, which makes no other benchmark of it.
_ASKING = re.compile(
    r"(?:_(?:chat|cot|direct|flan|generative|instruct|llama|native|zeroshot|fewshot|n_?shot|\d_?shot))+$"
)


def find(name: str, wanted: str | None = None) -> HarnessTask | None:
    """The task of that very name, but for case and separators; of the ``wanted`` harness first."""
    order = sorted(harnesses(), key=lambda one: (one != wanted, one != "lmeval", one))
    for harness in order:
        bare = name.removeprefix("inspect_evals/") if harness == "inspect" else name
        task = tasks_of(harness).get(bare) or _squashed(harness).get(squash(bare))
        if task is not None:
            return task
    return None


def near(name: str, harness: str) -> list[str]:
    """Names of tasks that are written alike, for a name that the harness does not know."""
    alike = [one for one in tasks_of(harness) if one[:2].casefold() == name[:2].casefold()]
    return get_close_matches(name, alike, SHOWN, 0.75)


def same(task: HarnessTask) -> tuple[Target, str | None] | None:
    """The entry and part that measure the same; None where none does for certain."""
    for entry, part in _with_rows(task, filtered=True):
        names = {squash(one) for one in (entry.name, entry.slug, *entry.aliases, *entry.cased)}
        if part is not None:
            told = entry.part(part)
            names = {f"{name}{squash(one)}" for name in names for one in (told.slug, told.name, *told.aliases)}
        if _bare(task.name) & names:
            return Target(entry), part
    return None


def offers(task: HarnessTask) -> list[Candidate]:
    """What may be run in the place of a task that nothing here scores; each has to be chosen."""
    name = f"{CALLED.get(task.harness, task.harness)}'s {task.name}"
    rows = [candidates.of(Target(entry), part, 0.4, f"takes the rows of {name}") for entry, part in _with_rows(task)]
    if not rows and len(task.datasets) == 1:
        kin = [one for one in placed.at(task.datasets[0]) if one.config in (None, task.config) and not one.filtered]
        why = f"takes rows of the same data set as {name}"
        rows = [candidates.of(Target(one.entry), one.part, 0.3, why) for one in kin]
    if not rows and task.members:
        inner = (tasks_of(task.harness).get(one) for one in task.members)
        found = {target: part for one in inner if one is not None and (hit := same(one)) for target, part in [hit]}
        rows = [candidates.of(target, part, 0.3, f"is in {name}") for target, part in found.items()]
    sets = [Named("huggingface", one, (0, 0), task.config, task.split) for one in task.datasets]
    rows += [candidates.of_rows(one, 0.4, f"the rows of {name}, asked and scored in our own way") for one in sets]
    return list({one.id: one for one in rows}.values())[:SHOWN]


def words(task: HarnessTask) -> str:
    """What is known of it."""
    package = package_of(task.harness)
    version = f" {package.version}" if package else ""
    kind = f"a group of {task.count} tasks" if task.count else "a task"
    where = ", ".join(task.datasets[:3])
    detail = ", ".join(one for one in (task.config, task.split) if one)
    rows = f", with rows of Hugging Face {where}{f' ({detail})' if detail else ''}" if where else ""
    by = f"{CALLED.get(task.harness, task.harness)}{version}"
    return f"{task.name} is known to {by} as {kind}{rows}; nothing here scores it yet."


@cache
def _squashed(harness: str) -> Mapping[str, HarnessTask]:
    found: dict[str, HarnessTask] = {}
    for name, task in tasks_of(harness).items():
        found.setdefault(squash(name), task)
    return found


def _bare(name: str) -> set[str]:
    """The name, and what is left of it without how it asks."""
    plain = re.sub(r"[-:]", "_", name.lower()).removeprefix("leaderboard_")
    return {squash(plain), squash(_ASKING.sub("", plain))}


def _with_rows(task: HarnessTask, *, filtered: bool = False) -> list[tuple[Entry, str | None]]:
    """Entries and parts that take the same rows: data set, config, split and kind of answer.

    ``filtered``: parts that are some of the rows there, too; only a name tells which a task takes.
    """
    if len(task.datasets) != 1:
        return []
    dataset, chosen = task.datasets[0], task.output == "multiple_choice"
    config = None if task.config == "default" else task.config
    return [
        (one.entry, one.part)
        for one in placed.at(dataset)
        if (one.part is None if task.count else (one.config, one.split) == (config, task.split))
        and (one.entry.kind == "multiple_choice" or not chosen)
        and (not one.filtered or (filtered and one.part is not None))
    ]
