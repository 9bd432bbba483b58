"""What a grader may say. docs/graders.md explains each field; ``validate_grader`` fills in every default."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, model_validator

from kernel import bodies
from kernel.errors import DomainError
from registry.graders.patterns import check_pattern

Text = Annotated[str, Field(min_length=1, max_length=20_000)]
Short = Annotated[str, Field(min_length=1, max_length=300)]


class _Part(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", hide_input_in_errors=True)


class Message(_Part):
    role: Literal["system", "user", "assistant"]
    content: Text


class Prompt(_Part):
    """What is asked. Texts may name input fields: ``{{question}}``, ``{{meta.topic}}``, ``{{choices|letters}}``"""

    system: Text | None = None
    template: Text | None = None
    messages: list[Message] | None = Field(default=None, min_length=1, max_length=50)

    @model_validator(mode="after")
    def _one_way(self) -> "Prompt":
        if self.template is not None and self.messages is not None:
            raise ValueError("Give template or messages, not both.")
        return self


class ModelParams(_Part):
    """Sent along with the messages, as they are. Absent ones are not sent."""

    temperature: float | None = Field(default=None, ge=0, le=2)
    max_tokens: int | None = Field(default=None, ge=1, le=1_000_000)
    max_completion_tokens: int | None = Field(default=None, ge=1, le=1_000_000)
    top_p: float | None = Field(default=None, gt=0, le=1)
    frequency_penalty: float | None = Field(default=None, ge=-2, le=2)
    presence_penalty: float | None = Field(default=None, ge=-2, le=2)
    seed: int | None = None
    stop: list[Short] | None = Field(default=None, min_length=1, max_length=8)
    reasoning_effort: Short | None = None
    response_format: dict[str, Any] | None = None


class Normalise(_Part):
    ignore_case: bool = True
    ignore_whitespace: bool = True
    trim_punctuation: bool = True
    ignore_punctuation: bool = False


class Extract(_Part):
    """Which part of the output is the answer."""

    pattern: Short | None = None
    group: Annotated[int, Field(ge=0, le=99)] | Short | None = None
    after: Short | None = None
    which: Literal["last", "first"] = "last"
    otherwise: Literal["miss", "whole"] = "miss"

    @model_validator(mode="after")
    def _one_way(self) -> "Extract":
        if (self.pattern is None) == (self.after is None):
            raise ValueError("Give either pattern or after.")
        if self.pattern is not None:
            check_pattern(self.pattern, group=self.group)
        return self


class _Grader(_Part):
    prompt: Prompt = Field(default_factory=Prompt)
    model: ModelParams = Field(default_factory=ModelParams)
    expected_field: Short | None = None
    strip_reasoning: bool = True


class _TextGrader(_Grader):
    normalise: Normalise = Field(default_factory=Normalise)
    extract: Extract | None = None


class Exact(_TextGrader):
    kind: Literal["exact"]


class Contains(_TextGrader):
    kind: Literal["contains"]
    need: Literal["any", "all"] = "any"
    whole_words: bool = True
    partial: bool = False


class Regex(_Grader):
    kind: Literal["regex"]
    pattern: Annotated[str, Field(min_length=1, max_length=2000)] | None = None
    match: Literal["search", "whole"] = "search"
    ignore_case: bool = False
    dot_all: bool = False
    multi_line: bool = False
    extract: Extract | None = None

    @model_validator(mode="after")
    def _compiles(self) -> "Regex":
        if self.pattern is not None:
            check_pattern(self.pattern.replace("{{expected}}", "x"))
        return self


class Numeric(_Grader):
    kind: Literal["numeric"]
    absolute: float = Field(default=1e-6, ge=0)
    relative: float = Field(default=0.0, ge=0, le=1)
    decimal: Literal[".", ","] = "."
    extract: Extract | None = None


class Choice(_Grader):
    kind: Literal["choice"]
    choices_field: Short = "choices"
    answer: Literal["auto", "letter", "index", "text"] = "auto"
    multiple: bool = False
    partial: bool = False
    extract: Extract | None = None


class ToolCalls(_Grader):
    kind: Literal["tool_calls"]
    mode: Literal["tools", "json_schema"] = "tools"
    tool_choice: Literal["auto", "required"] = "auto"
    functions_field: Short = "functions"
    calls: Literal["one", "many"] = "one"
    order: Literal["any", "same"] = "any"
    strings: Literal["auto", "exact", "loose"] = "auto"
    accept_text: bool = True
    partial: bool = False


class Code(_Grader):
    kind: Literal["code"]
    seconds: float = Field(default=10.0, ge=0.5, le=60)
    memory_mb: int = Field(default=512, ge=64, le=2048)


class JudgeModel(_Part):
    model: Short
    provider: Short
    params: dict[str, Any] = Field(default_factory=dict)


class Judge(_Grader):
    """``judge``: who judges; ``marks`` are whole numbers from 0 to 10, the score is a tenth of one."""

    kind: Literal["judge"]
    judge: JudgeModel
    rubric: Text
    scale: Literal["verdict", "marks"] = "verdict"


Grader = Exact | Contains | Regex | Numeric | Choice | ToolCalls | Code | Judge
KINDS = ("exact", "contains", "regex", "numeric", "choice", "tool_calls", "code", "judge")
_ADAPTER: TypeAdapter[Grader] = TypeAdapter(Annotated[Grader, Field(discriminator="kind")])
# Constrained decoding writes one short call; more tokens would only be padding.
_CALL_TOKENS = 128


def validate_grader(grader: Mapping[str, Any]) -> dict[str, Any]:
    """The grader with all defaults filled in; DomainError ``validation_failed`` with the place of each fault."""
    try:
        parsed = _ADAPTER.validate_python(dict(grader))
    except ValidationError as fault:
        raise _refusal(fault) from None
    full = parsed.model_dump(exclude_none=True)
    if full.get("mode") == "json_schema":
        own = full["model"]
        short = {} if "max_completion_tokens" in own else {"max_tokens": _CALL_TOKENS}
        full["model"] = {"temperature": 0.0, **short, **own}
    return full


def _refusal(fault: ValidationError) -> DomainError:
    errors = []
    for error in fault.errors(include_url=False, include_input=False):
        # The discriminated union puts the kind itself first.
        path = list(error["loc"][1:] if error["loc"][:1] and error["loc"][0] in KINDS else error["loc"])
        msg = bodies.words(error)
        if error["type"].startswith("union_tag"):
            path, msg = ["kind"], f"kind is one of {', '.join(KINDS)}."
        errors.append({"loc": ["body", "grader", *path], "msg": msg})
    return DomainError("validation_failed", f"The grader can't be used: {errors[0]['msg']}", errors=errors)
