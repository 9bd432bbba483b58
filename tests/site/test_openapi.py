"""The description of the API is valid, complete and true."""

import copy
import json

import jsonschema
import openapi_spec_validator
import pytest

from accounts.scopes import SCOPES
from benchwright_site.api import api as v1
from benchwright_site.openapi.document import operations
from benchwright_site.openapi.routes import ROUTES
from scripts import cases
from scripts import document as generated
from tests.house.source import ROOT
from tests.sampling import every
from tests.site.rows import ROWS, asked

DESCRIBED = [name for name in ROWS if " /tokens" not in name]


@pytest.fixture(scope="module")
def document():
    return json.loads(json.dumps(v1.get_openapi_schema(path_prefix="/v1")))


@pytest.fixture(scope="module")
def closed(document):
    """The document with every object closed: an answer may have no field that is not described."""
    made = copy.deepcopy(document)

    def close(node):
        if isinstance(node, dict):
            if "properties" in node and "additionalProperties" not in node:
                node["additionalProperties"] = False
            for child in node.values():
                close(child)
        elif isinstance(node, list):
            for child in node:
                close(child)

    for schema in made["components"]["schemas"].values():
        close(schema)
    made["components"]["schemas"]["Problem"]["additionalProperties"] = True  # a code may bring fields of its own
    return made


def operation(document, name):
    method, path = name.split(" ")
    return document["paths"][f"/v1{path}"][method.lower()]


def test_every_route_is_described_and_nothing_else():
    known = {name for name, _, _ in operations(v1)}
    assert known - set(ROUTES) == set(), "give these a row in benchwright_site/openapi/routes.py"
    assert set(ROUTES) - known == set()


def test_it_is_valid(document):
    assert document["openapi"].startswith("3.1")
    openapi_spec_validator.validate(document)


@pytest.mark.parametrize("name", sorted(ROUTES))
def test_each_route_says_all_of_itself(document, name):
    found = operation(document, name)
    assert len(found["summary"].split()) >= 2
    assert len(found["summary"]) <= 120
    assert all(parameter["description"] for parameter in found["parameters"])
    scopes = found["security"][0]["bearer"]
    assert set(scopes) <= set(SCOPES)
    assert scopes or name in ("GET /me", "POST /leaked_tokens")
    for status in ("400", "401", "403", "429", "500", "503"):
        refused = document["components"]["responses"][found["responses"][status]["$ref"].rpartition("/")[2]]
        assert list(refused["content"]) == ["application/problem+json"]
    good = [status for status in found["responses"] if status.startswith("2")]
    assert good
    if name.startswith(("POST", "PATCH", "PUT")):
        assert found["requestBody"]["content"]["application/json"]["schema"]
        assert {"413", "415", "422"} <= set(found["responses"])


def test_names_are_given_once(document):
    names = [found["operationId"] for methods in document["paths"].values() for found in methods.values()]
    assert len(names) == len(set(names))


@pytest.mark.django_db
@pytest.mark.parametrize("name", every(3, DESCRIBED))
@pytest.mark.parametrize("who", ["owner", "stranger", "nobody"])
def test_answers_are_as_described_to_the_last_field(closed, name, who, things, alice, bob, token):
    bearer = {"owner": alice, "stranger": bob, "nobody": None}[who]
    answer = asked(name, things, bearer and token(bearer))
    responses = operation(closed, name)["responses"]
    said = responses[str(answer.status_code)]
    if "$ref" in said:
        said = closed["components"]["responses"][said["$ref"].rpartition("/")[2]]
    if "content" not in said:
        assert not answer.content
        return
    kind = answer["Content-Type"].partition(";")[0]
    assert kind in said["content"], f"{answer.status_code} {kind}"
    if kind.endswith("json"):
        schema = {**said["content"][kind]["schema"], "components": closed["components"]}
        jsonschema.Draft202012Validator(schema).validate(json.loads(answer.content))


@pytest.mark.parametrize("name", ["api.md", "problems.md", "cases.md"])
def test_the_generated_pages_are_up_to_date(name):
    assert (ROOT / "docs" / name).read_text() == generated.pages()[name], "run `make docs`"


def test_every_case_that_a_test_names_has_words():
    assert not cases.unknown(), "add them to scripts/cases.py"
