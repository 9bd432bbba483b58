"""The bodies of the runs API: what a caller may send, field by field."""

from typing import Annotated, Any, Literal

from pydantic import Field, field_validator, model_validator

from kernel.bodies import Body, PatchBody
from kernel.errors import DomainError

Name = Annotated[str, Field(min_length=1, max_length=200)]


class ModelChoice(Body):
    """A model at a provider."""

    model: Name
    provider: Name


class Sut(Body):
    """The model under test. ``params`` override what the scorer sends; a ``connection`` names its own provider."""

    model: Name
    provider: Name | None = None
    connection: Name | None = None
    params: dict[str, Any] = Field(default_factory=dict)


class Replay(Body):
    """Run again what an earlier run ran, with the same impl."""

    from_run: Name
    revision: int | None = Field(default=None, ge=1)
    only_failed: bool = False
    only_errored: bool = False
    task_ids: list[Name] | None = Field(default=None, min_length=1, max_length=100_000)


class How(Body):
    """How a run is to run: every way of starting one takes these. None = the default, or what is inherited."""

    sut: Sut | None = Field(default=None, description='The model under test, also as "model@provider".')
    model: Sut | None = Field(default=None, description="Another name of sut.")
    driver: ModelChoice | Literal["builtin"] | None = None
    harness: Name | None = None
    compute: Name | None = None
    limits: dict[str, Any] | None = None
    trials: int | None = Field(default=None, ge=1, le=100)
    concurrency: int | None = Field(default=None, ge=1, le=1000)
    phase_models: dict[str, ModelChoice] | None = None
    hints: list[Annotated[str, Field(max_length=2000)]] | None = Field(default=None, max_length=100)
    secrets: list[Name] | None = Field(default=None, max_length=100)
    metadata: dict[str, Any] | None = None
    visibility: Literal["private", "public"] | None = None

    @model_validator(mode="before")
    @classmethod
    def _agent_means_somebody_else(cls, data: Any) -> Any:
        if isinstance(data, dict) and "agent" in data:
            raise DomainError(
                "unknown_field",
                "There is no field agent: the model that authors a run is `driver`, the model under test is `sut`.",
                errors=[{"loc": ["body", "agent"], "msg": "did you mean driver?"}],
            )
        return data

    @field_validator("sut", "model", mode="before")
    @classmethod
    def _short_form(cls, value: Any) -> Any:
        """``"qwen/qwen3-32b@openrouter"`` -> {"model", "provider"}."""
        if not isinstance(value, str):
            return value
        model, at, provider = value.rpartition("@")
        if not (at and model and provider):
            raise ValueError('name the provider too: "model@provider" or {"model": …, "provider": …}')
        return {"model": model, "provider": provider}


class LaunchBody(How):
    """``POST /v1/runs``: exactly one of request, benchmark, replay, and how to run it. None = the default."""

    request: str | None = Field(default=None, min_length=1, max_length=20_000)
    benchmark: Name | None = None
    subset: Name | None = None
    impl: Name | None = None
    replay: Replay | None = None
    constraints: dict[str, Any] | None = Field(default=None, json_schema_extra={"deprecated": True})


class ForkBody(How):
    """``POST /v1/runs/{id}/fork``: what to change, from which phase on, and how to run it. None = as the parent."""

    description: str | None = Field(default=None, min_length=1, max_length=20_000, description="What to change.")
    from_phase: Literal["find", "analyze", "atomize", "materialize"] | None = Field(
        default=None, description="The first phase that runs again; atomize where it is left out."
    )
    mode: Literal["rerun", "rescore"] = Field(
        default="rerun", description="rescore grades the parent's stored outputs anew and asks no model."
    )
    impl: Name | None = Field(default=None, description="A scorer of the parent's subset, instead of an authored one.")


class ApproveBody(Body):
    """``POST /v1/runs/{id}/approve``: the answer to what the run asks. Empty = yes."""

    choice: Name | None = Field(
        default=None,
        description="The id of one of the choices that the run offers, or model:<model>@<place> where it asks for one.",
    )
    edits: dict[str, Any] | None = Field(default=None, description="Fields of the plan to change, e.g. limit.")


class HaltBody(Body):
    reason: str | None = Field(default=None, max_length=200)


class PublishBody(Body):
    visibility: Literal["public", "private"] = "public"


class ImplFromRunBody(Body):
    """``POST /v1/impls/from_run``: the scorer of a run, for another subset (default: the run's own)."""

    from_run: Name
    subset: Name | None = None
    benchmark: Name | None = None
    label: Annotated[str, Field(max_length=200)] = ""
    description: Annotated[str, Field(max_length=20_000)] = ""


class NarrateBody(Body):
    """``POST /v1/runs/{id}/narrate``."""

    slice: Literal["recent", "all", "failures"] = "recent"


class ReviewResolution(Body):
    """What is said to a flag: a note, and from those who may settle it, a settlement."""

    code: Name
    note: Annotated[str, Field(max_length=4000)] = ""
    settlement: Literal["accepted", "rejected"] | None = None


class RunPatch(PatchBody):
    """``PATCH /v1/runs/{id}``: only what may change after launch."""

    visibility: Literal["private", "public"] | None = None
    metadata: dict[str, Any] | None = None
    review_resolution: ReviewResolution | None = None
