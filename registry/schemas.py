"""Bodies of authoring requests."""

from typing import Annotated, Any, Literal

from pydantic import Field

from kernel.bodies import NOT_BLANK, Body, PatchBody

Name = Annotated[str, Field(min_length=1, max_length=200, pattern=NOT_BLANK)]
Title = Annotated[str, Field(max_length=200)]
Description = Annotated[str, Field(max_length=20_000)]
Category = Annotated[str, Field(max_length=80)]
Tags = Annotated[list[Annotated[str, Field(min_length=1, max_length=60, pattern=NOT_BLANK)]], Field(max_length=50)]
Answers = Literal["open", "closed"]


class BenchmarkBody(Body):
    name: Name
    description: Description = ""
    category: Category = ""
    tags: Tags = []


class BenchmarkPatch(PatchBody):
    name: Name = ""
    description: Description = ""
    category: Category = ""
    tags: Tags = []


class SubsetBody(Body):
    slug: Annotated[str, Field(max_length=200)]
    name: Title = ""
    description: Description = ""
    tasks: list[Any] = []
    rolling: bool = False
    staged: bool = False
    answers: Answers = "open"
    grader: dict[str, Any] | None = None


class SubsetPatch(PatchBody):
    name: Title = ""
    description: Description = ""
    rolling: bool = False
    answers: Answers = "open"


class TasksBody(Body):
    tasks: list[Any] = []
    complete: bool = False


class JudgeBody(Body):
    model: Annotated[str, Field(min_length=1, max_length=200)]
    provider: Annotated[str, Field(min_length=1, max_length=80)]
    params: dict[str, Any] = {}


class ImplBody(Body):
    subset: Annotated[str, Field(max_length=80)]
    benchmark: Annotated[str, Field(max_length=40)] | None = None
    code: str | None = None
    grader: dict[str, Any] | None = None
    label: Title = ""
    description: Description = ""
    language: Annotated[str, Field(max_length=20)] = "python"
    pass_threshold: Annotated[float, Field(ge=0, le=1)] = 1.0
    network: list[Annotated[str, Field(max_length=255)]] = []
    judge: JudgeBody | None = None
    isolation: Literal["batch", "task"] = "batch"


class ImplPatch(PatchBody):
    label: Title = ""
    description: Description = ""
