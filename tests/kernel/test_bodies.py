"""Request bodies: strict types and helpful refusals."""

import json
from decimal import Decimal
from typing import Annotated, Any, ClassVar

import pytest
from pydantic import Field, ValidationError, field_validator

from kernel import bodies
from kernel.errors import DomainError
from tests.kernel.test_secret_signs import KEYS


class Limits(bodies.Body):
    tasks: bodies.Count | None = None
    cost: bodies.Dollars | None = None
    duration: bodies.Seconds | None = None


class Launch(bodies.Body):
    meant: ClassVar[dict[str, str]] = {"agent": "driver"}
    driver: str = ""
    trials: int = 1
    limits: Limits = Limits()
    metadata: dict[str, Any] = {}
    anything: Any = None


class Patch(bodies.PatchBody):
    name: str = ""


def refused(data, model=Launch) -> DomainError:
    with pytest.raises(ValidationError) as caught:
        model.model_validate(data)
    return bodies.refused({**item, "loc": ("body", *item["loc"])} for item in caught.value.errors(include_url=False))


@pytest.mark.parametrize("value", [True, "500", 500.0, 2**63, -(2**63) - 1, 10**100, None, [1], 1.5])
def test_a05_it_takes_only_real_integers_that_fit(value):
    error = refused({"trials": value})
    assert (error.code, error.errors[0]["loc"]) == ("validation_failed", ["body", "trials"])


@pytest.mark.parametrize("field", ["cost", "duration"])
@pytest.mark.parametrize("value", [True, "5", -1, 10**30, [1], {}])
def test_a05_it_takes_only_real_numbers_for_money_and_time(field, value):
    assert refused({"limits": {field: value}}).errors[0]["loc"] == ["body", "limits", field]


@pytest.mark.parametrize("value", [True, "5", -1, 5.0, 2**31])
def test_a05_counts_fit_their_column(value):
    assert refused({"limits": {"tasks": value}}).code == "validation_failed"


def test_it_reads_money_as_the_decimal_that_was_written():
    assert Launch.model_validate({"limits": {"cost": 0.1}}).limits.cost == Decimal("0.1")
    assert Launch.model_validate({"limits": {"cost": 5}}).limits.cost == Decimal(5)


def test_it_keeps_large_integers_where_any_json_goes():
    body = Launch.model_validate({"metadata": {"seed": 2**80}, "anything": 2**80, "trials": 2**63 - 1})
    assert (body.metadata["seed"], body.anything, body.trials) == (2**80, 2**80, 2**63 - 1)


class Named(bodies.Body):
    name: Annotated[str, Field(min_length=1, max_length=1200, pattern=bodies.NOT_BLANK)]
    code: Annotated[str, Field(min_length=3)] = "abc"

    @field_validator("code")
    @classmethod
    def _told(cls, value: str) -> str:
        if value == "vllm":
            raise ValueError("name the provider too")
        return value


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({"name": "x", "code": "vllm"}, "code: name the provider too"),
        ({"name": "   "}, "name: Must not be blank."),
        ({"name": ""}, "name: Must not be blank."),
        ({"name": "x" * 1201}, "name: Must have at most 1,200 characters."),
        ({"name": "x", "code": "a"}, "code: Must have at least 3 characters."),
    ],
)
def test_it_speaks_to_people(data, said):
    error = refused(data, Named)
    assert (error.detail, error.errors[0]["msg"]) == (said, said.partition(": ")[2])


def test_a08_it_names_the_nearest_field():
    error = refused({"dirver": "x"})
    assert (error.code, error.errors[0]["loc"]) == ("unknown_field", ["body", "dirver"])
    assert "Did you mean driver?" in error.errors[0]["msg"]
    nested = refused({"limits": {"taks": 1}})
    assert nested.errors[0]["loc"] == ["body", "limits", "taks"]
    assert "tasks" in nested.errors[0]["msg"]


def test_a08_it_names_the_field_that_an_old_name_means():
    assert "Did you mean driver?" in refused({"agent": "x"}).detail


def test_a08_a_patch_tolerates_an_idempotency_key():
    assert Patch.model_validate({"name": "n", "idempotency_key": "k"}).changes() == {"name": "n"}
    assert Patch.model_validate({"idempotency_key": None}).changes() == {}
    assert refused({"id": "x"}, Patch).code == "unknown_field"
    assert refused({"idempotency_key": "k"}).code == "unknown_field"


def test_a08_an_unknown_name_is_said_back_short_and_without_secrets():
    error = refused({"x" * 5000: 1})
    assert len(error.detail) < 400
    assert len(error.errors[0]["loc"][1]) <= 60
    for secret in (*KEYS.values(), "Zq81mW0xT5yR7uV3nB6cD9"):
        said = json.dumps(refused({secret: 1}).document(None))
        assert secret not in said
        assert "[redacted]" in said
    many = refused({f"strange{at}": at for at in range(5000)})
    assert len(many.errors) == 50
    assert refused({"line\nbreak\x1b[2J": 1}).errors[0]["loc"][1] == "line break [2J"
