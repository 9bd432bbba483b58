"""From options to a request's body."""

from typing import Any

import click
import pytest

from benchwright.cli.launch import options as launch_options

NOTHING: dict[str, Any] = {
    **dict.fromkeys(
        "request benchmark subset impl replay_from model driver harness harness_task compute trials concurrency limit "
        "revision visibility".split()
    ),
    **dict.fromkeys("param limit_to hint secret metadata task_ids".split(), ()),
    "only_failed": False,
    "only_errored": False,
}


def body(**options: Any) -> dict[str, Any]:
    return launch_options.body({**NOTHING, **options})


def test_a_pinned_launch() -> None:
    assert body(
        benchmark="bm_1",
        subset="sub_1",
        impl="latest:official",
        model="qwen/qwen3-32b@openrouter",
        param=("temperature=0", "stop=END", 'tools=[{"a": 1}]'),
        limit_to=("run.cost=15", "run.duration=2.5", "task.attempts=1", "phase.atomize.cost=1"),
        limit=5,
        trials=2,
        metadata=("sweep=a", "pr=12"),
    ) == {
        "benchmark": "bm_1",
        "subset": "sub_1",
        "impl": "latest:official",
        "sut": {
            "model": "qwen/qwen3-32b",
            "provider": "openrouter",
            "params": {"temperature": 0, "stop": "END", "tools": [{"a": 1}]},
        },
        "limits": {"run": {"cost": 15, "duration": 2.5}, "task": {"attempts": 1}, "phase": {"atomize": {"cost": 1}}},
        "trials": 2,
        "metadata": {"sweep": "a", "pr": 12, "limit": 5},
    }


def test_a_replay_and_its_slices() -> None:
    made = body(replay_from="r", only_errored=True, task_ids=("a,b", "c"), revision=3)
    assert made == {"replay": {"from_run": "r", "only_errored": True, "task_ids": ["a", "b", "c"], "revision": 3}}
    assert body(replay_from="r", only_failed=True) == {"replay": {"from_run": "r", "only_failed": True}}


def test_a_harness_task_goes_where_the_harness_reads_it() -> None:
    made = body(request="x", harness="inspect", harness_task="inspect_evals/mmlu_0_shot")
    assert made["metadata"] == {"inspect_harness": {"task": "inspect_evals/mmlu_0_shot"}}
    assert body(request="x", harness="harbor", harness_task="d")["metadata"] == {"harbor_harness": {"dataset": "d"}}


def test_the_last_at_sign_divides_model_and_provider() -> None:
    assert launch_options.model("org/m@v1@openrouter") == {"model": "org/m@v1", "provider": "openrouter"}
    assert body(request="x", driver="builtin")["driver"] == "builtin"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"model": "vllm"}, "--model 'vllm': name the provider too: --model MODEL@PROVIDER (such as"),
        ({"model": "vllm@"}, "name the provider too: --model MODEL@PROVIDER"),
        ({"model": "@vllm"}, "name the model too: --model MODEL@PROVIDER"),
        ({"driver": "m"}, "name the provider too: --driver MODEL@PROVIDER"),
    ],
)
def test_a_model_without_its_provider_is_refused(options: dict[str, str], said: str) -> None:
    with pytest.raises(click.UsageError) as caught:
        body(request="x", **options)
    assert said in caught.value.message


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"request": "x", "benchmark": "b"},
        {"request": "x", "replay_from": "r"},
        {"request": "x", "subset": "s"},
        {"benchmark": "b", "only_failed": True},
        {"request": "x", "param": ("a=1",)},
        {"request": "x", "harness_task": "t"},
        {"request": "x", "limit_to": ("run.coast=1",)},
        {"request": "x", "limit_to": ("attempt.cost=1",)},
        {"request": "x", "limit_to": ("run.cost",)},
        {"request": "x", "limit_to": ("run.cost=abc",)},
        {"request": "x", "limit_to": ("run.cost=-1",)},
        {"request": "x", "limit_to": ("run.cost=inf",)},
        {"request": "x", "limit_to": ("run.find.cost=1",)},
        {"request": "x", "metadata": ("novalue",)},
    ],
)
def test_what_can_not_be_meant_is_a_usage_error(wrong: dict[str, Any]) -> None:
    with pytest.raises(click.UsageError):
        body(**wrong)
