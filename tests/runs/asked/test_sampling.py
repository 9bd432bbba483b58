"""What is sent to the model beside the question, as it is told."""

from typing import Any

import pytest

from runs.asked import sampling

GRADER = {"kind": "numeric", "model": {"temperature": 0.0, "max_tokens": 512, "top_p": None}}


@pytest.mark.parametrize(
    ("sut", "sent"),
    [
        ({"provider": "simulated"}, {"temperature": 0.0, "max_tokens": 512}),
        ({"provider": "simulated", "params": {"temperature": 0.7}}, {"temperature": 0.7, "max_tokens": 512}),
        ({"provider": "simulated", "params": {"temperature": None}}, {"max_tokens": 512}),
        ({"provider": "openai"}, {"temperature": 0.0, "max_completion_tokens": 512}),
        ({"provider": "openai", "model": "o3"}, {"max_completion_tokens": 512}),
        ({"provider": "openrouter", "params": {"max_completion_tokens": 9}},
         {"temperature": 0.0, "max_completion_tokens": 9}),
        ({"provider": "nobody", "params": {"seed": 1}}, {"temperature": 0.0, "max_tokens": 512, "seed": 1}),
    ],
)  # fmt: skip
def test_the_runs_parameters_go_before_the_scorers_in_the_providers_names(
    sut: dict[str, Any], sent: dict[str, Any]
) -> None:
    assert sampling.sent(GRADER, {"model": "m", **sut}) == sent


def test_what_is_not_sent_is_said() -> None:
    assert sampling.told({}, code=False) == "none sent, so the provider's defaults"
    assert sampling.told({"temperature": 0.7}, code=False) == "temperature 0.7"
    assert sampling.told({"temperature": 0.7}, code=True) == "temperature 0.7; otherwise as the scorer's code sends"
    assert sampling.told({}, code=True) == "as the scorer's code sends"
