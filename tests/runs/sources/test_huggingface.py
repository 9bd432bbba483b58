"""Datasets of the Hub: which files are meant, what is resolved first, and what its refusals mean."""

import json
from typing import Any

import pytest

from runs.sources.huggingface import choosing
from runs.sources.huggingface.source import HuggingFace
from runs.sources.troubles import SourceError
from runs.sources.web import Web, opened
from tests.runs.sources.writing import commas, jsonl, parquet
from tests.twins.hosts_twin import Hosts, answer
from tests.twins.huggingface_twin import CDN, HUB, SHA, TOKEN, VIEWER, HuggingFaceTwin
from tests.twins.tunnel_twin import TOKEN as RUN_TOKEN
from tests.twins.tunnel_twin import TunnelTwin

QUESTIONS = [{"question": f"q{at}", "answer": f"{at}"} for at in range(4)]
GSM8K = parquet({"question": ["q0", "q1"], "answer": ["#### 1", "#### 2"]})
CARD = {
    "license": "mit",
    "configs": [
        {"config_name": "main", "data_files": [
            {"split": "train", "path": "main/train-*"}, {"split": "test", "path": "main/test-*"},
        ]},
        {"config_name": "socratic", "data_files": [{"split": "test", "path": ["socratic/test-*"]}]},
    ],
}  # fmt: skip


async def rows(web: Web, **locator: Any) -> list[dict[str, Any]]:
    return (await HuggingFace().fetch({"source": "huggingface", **locator}, web)).rows


def gsm8k(hub: HuggingFaceTwin, **more: Any) -> None:
    files = {"main/train-00000-of-00001.parquet": b"never read", "main/test-00000-of-00001.parquet": GSM8K}
    hub.dataset("openai/gsm8k", {**files, "socratic/test-00000-of-00001.parquet": GSM8K}, card=CARD, **more)


async def test_it_reads_the_declared_files_of_the_resolved_commit(hub: HuggingFaceTwin, web: Web) -> None:
    gsm8k(hub)
    got = await HuggingFace().fetch({"dataset": "openai/gsm8k"}, web)
    assert got.rows == [{"question": "q0", "answer": "#### 1"}, {"question": "q1", "answer": "#### 2"}]
    assert (got.revision, got.licence, got.private) == (SHA, "mit", False)
    assert (got.facts["config"], got.facts["split"]) == ("main", "test")
    paths = [(seen.host, seen.path.partition("?")[0]) for seen in hub.hosts.seen]
    assert paths == [
        (HUB, "/api/datasets/openai/gsm8k"),
        (HUB, f"/datasets/openai/gsm8k/resolve/{SHA}/main/test-00000-of-00001.parquet"),
        (CDN, "/openai/gsm8k/main/test-00000-of-00001.parquet"),
    ]


async def test_it_follows_a_dataset_that_was_renamed(hub: HuggingFaceTwin, web: Web) -> None:
    gsm8k(hub)
    hub.moved["gsm8k"] = "openai/gsm8k"
    got = await HuggingFace().fetch({"dataset": "gsm8k", "revision": "main"}, web)
    assert got.facts["dataset"] == "openai/gsm8k"


async def test_it_joins_the_files_of_a_split_in_order(hub: HuggingFaceTwin, web: Web) -> None:
    files = {f"data/test-{at:05d}-of-00002.jsonl": jsonl(QUESTIONS[at * 2 : at * 2 + 2]) for at in (1, 0)}
    card = {"configs": [{"config_name": "default", "data_files": [{"split": "test", "path": list(sorted(files))}]}]}
    hub.dataset("a/b", files, card=card)
    assert await rows(web, dataset="a/b") == QUESTIONS


@pytest.mark.parametrize(
    ("files", "split"),
    [
        ({"test.jsonl": jsonl(QUESTIONS), "train.jsonl": b""}, "test"),
        ({"data/validation-00000.csv": commas(QUESTIONS)}, "validation"),
        ({"dev/rows.json": json.dumps(QUESTIONS).encode(), "train/rows.json": b"[]"}, "validation"),
        ({"questions.json": json.dumps(QUESTIONS).encode()}, "train"),
    ],
)
async def test_it_tells_splits_by_the_names_of_files(
    hub: HuggingFaceTwin, web: Web, files: dict[str, bytes], split: str
) -> None:
    hub.dataset("a/b", files)
    got = await HuggingFace().fetch({"dataset": "a/b"}, web)
    assert (got.rows, got.facts["split"]) == (QUESTIONS, split)


async def test_it_reads_a_named_file_with_its_answers(hub: HuggingFaceTwin, web: Web) -> None:
    files = {"v3.json": [{"id": "p0", "question": 1}], "possible_answer/v3.json": [{"id": "p0", "ground_truth": 2}]}
    hub.dataset("g/bfcl", {path: jsonl(held) for path, held in files.items()})
    got = await rows(web, dataset="g/bfcl", path="v3.json", answers_path="possible_answer/v3.json")
    assert got == [{"id": "p0", "question": 1, "ground_truth": 2}]
    with pytest.raises(SourceError, match="EntryNotFound"):
        await rows(web, dataset="g/bfcl", path="v9.json")


async def test_it_takes_the_hubs_own_conversion_where_there_is_only_a_script(hub: HuggingFaceTwin, web: Web) -> None:
    hub.dataset("a/script", {"script.py": b"import os"}, parquet={"default": {"test": [GSM8K, GSM8K]}})
    assert len(await rows(web, dataset="a/script")) == 4


async def test_it_takes_the_viewer_where_there_is_nothing_else(hub: HuggingFaceTwin, web: Web) -> None:
    many = [{"question": f"q{at}", "label": at % 2} for at in range(250)]
    features = [{"feature_idx": 1, "name": "label", "type": {"_type": "ClassLabel", "names": ["no", "yes"]}}]
    hub.dataset("a/zip", {"data.zip": b"PK"}, viewer={("default", "test"): many}, features=features)
    got = await HuggingFace().fetch({"dataset": "a/zip"}, web)
    assert got.rows == many
    assert got.facts["labels"] == {"label": ["no", "yes"]}
    assert sum(seen.host == VIEWER for seen in hub.hosts.seen) == 4


async def test_it_does_not_take_values_that_the_viewer_cut_short(hub: HuggingFaceTwin, web: Web) -> None:
    hub.dataset("a/zip", {"data.zip": b"PK"}, viewer={("default", "test"): QUESTIONS}, truncated=True)
    with pytest.raises(SourceError, match="cuts long values"):
        await rows(web, dataset="a/zip")


async def test_a_script_alone_gives_no_rows_and_it_says_who_must_mend_that(hub: HuggingFaceTwin, web: Web) -> None:
    hub.dataset("a/script", {"script.py": b"import os"})
    with pytest.raises(SourceError) as caught:
        await rows(web, dataset="a/script")
    assert "Its publisher has to upload rows" in caught.value.hint


async def test_it_asks_which_config_is_meant(hub: HuggingFaceTwin, web: Web) -> None:
    configs = [{"config_name": name, "data_files": f"{name}/*.jsonl"} for name in ("anatomy", "virology")]
    hub.dataset(
        "a/mmlu", {f"{name}/x.jsonl": jsonl(QUESTIONS) for name in ("anatomy", "virology")}, card={"configs": configs}
    )
    with pytest.raises(SourceError, match="2 configs, and none of a usual name") as caught:
        await rows(web, dataset="a/mmlu")
    assert [choice["id"] for choice in caught.value.choices] == ["anatomy", "virology"]
    assert caught.value.asks == "config"
    assert await rows(web, dataset="a/mmlu", config="Anatomy") == QUESTIONS
    with pytest.raises(SourceError, match="no config 'botany'"):
        await rows(web, dataset="a/mmlu", config="botany")
    with pytest.raises(SourceError, match="no split 'test'"):
        await rows(web, dataset="a/mmlu", config="anatomy", split="test")


# -- refusals ----------------------------------------------------------------------------------------------------------
async def test_it_names_near_datasets_where_there_is_none(hub: HuggingFaceTwin, web: Web) -> None:
    gsm8k(hub)
    with pytest.raises(SourceError, match="no dataset openai/gsm9k") as caught:
        await rows(web, dataset="openai/gsm9k")
    assert "Nearest: openai/gsm8k" in caught.value.hint
    assert "add a secret" in caught.value.hint
    assert caught.value.choices[0]["id"] == "openai/gsm8k"


async def test_a_gated_dataset_says_which_secret_to_add(hub: HuggingFaceTwin, web: Web) -> None:
    gsm8k(hub, gated="manual")
    with pytest.raises(SourceError) as caught:
        await rows(web, dataset="openai/gsm8k")
    assert caught.value.code == "rows_gated"
    assert "Accept the terms at https://huggingface.co/datasets/openai/gsm8k" in caught.value.hint
    assert "rule huggingface.co (bearer)" in caught.value.hint


async def test_a_gated_dataset_that_a_secret_opens_is_private(
    hub: HuggingFaceTwin, hosts: Hosts, tunnel: TunnelTwin
) -> None:
    gsm8k(hub, gated="auto")
    async with opened(tunnel.url, RUN_TOKEN, str(hosts.authority.file), ["huggingface.co"]) as web:
        hub.attached = f"Bearer {TOKEN}"
        got = await HuggingFace().fetch({"dataset": "openai/gsm8k"}, web)
        assert got.private
        hub.attached = "Bearer another"
        with pytest.raises(SourceError) as caught:
            await rows(web, dataset="openai/gsm8k")
    assert "was sent and did not suffice" in caught.value.hint


async def test_it_knows_no_other_revision(hub: HuggingFaceTwin, web: Web) -> None:
    gsm8k(hub)
    with pytest.raises(SourceError, match="no revision v9"):
        await rows(web, dataset="openai/gsm8k", revision="v9")


async def test_it_is_patient_with_a_hub_that_limits_it(hub: HuggingFaceTwin, web: Web) -> None:
    gsm8k(hub)
    hub.busy = [answer(b"", "Retry-After: 0", status="429 Too Many Requests")] * 2
    assert len(await rows(web, dataset="openai/gsm8k")) == 2


@pytest.mark.parametrize("name", ["", "../x", "a/../b", "a/b/c", "a b", "a/b?x", "https://x"])
def test_it_refuses_names_that_are_none(name: str) -> None:
    with pytest.raises(SourceError):
        HuggingFace().check({"dataset": name})


# -- choosing ----------------------------------------------------------------------------------------------------------
def test_patterns_fit_as_globs() -> None:
    paths = ["data/test-0.parquet", "data/x/test-1.parquet", "other/test-2.parquet"]
    card = {
        "configs": [
            {"config_name": "c", "data_files": [{"split": "test", "path": pattern}]} for pattern in ["**/test-*"]
        ]
    }
    assert choosing.declared(card, paths) == {"c": {"test": paths}}
    card["configs"][0]["data_files"] = [{"split": "test", "path": "data/*"}]  # type: ignore[index]
    assert choosing.declared(card, paths) == {"c": {"test": paths[:1]}}
    folder = {"configs": [{"config_name": "c", "data_dir": "data"}]}
    assert choosing.declared(folder, paths) == {"c": {"test": paths[:2]}}


def test_it_does_not_take_a_word_within_a_word_for_a_split() -> None:
    assert choosing.inferred(["contest.jsonl", "latest/a.jsonl"]) == {}
    assert choosing.inferred(["README.md", "dataset_infos.json", "a-test-1.jsonl"]) == {
        "default": {"test": ["a-test-1.jsonl"]}
    }


@pytest.mark.parametrize(
    ("splits", "asked", "split"),
    [
        (["train", "test"], None, "test"), (["train", "validation"], None, "validation"), (["train"], None, "train"),
        (["gold"], None, "gold"), (["a", "b"], None, None), (["Test"], "test", "Test"), (["train"], "test", None),
    ],
)  # fmt: skip
def test_it_prefers_splits_that_are_for_testing(splits: list[str], asked: str | None, split: str | None) -> None:
    assert choosing.split_of(splits, asked) == split
