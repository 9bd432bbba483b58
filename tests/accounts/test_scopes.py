"""The list of scopes."""

import pytest

from accounts.scopes import SCOPES, STARTER, check
from kernel.errors import DomainError


def test_no_scope_names_tokens():
    assert not [scope for scope in SCOPES if "token" in scope or "pat" in scope.split(":")]


def test_the_starter_set_is_the_guides():
    assert " ".join(STARTER) == "runs:read runs:write artifacts:read secrets:read billing:read registry:read"
    assert set(STARTER) <= set(SCOPES)


def test_it_orders_and_deduplicates():
    assert check(["runs:write", "runs:read", "runs:write"]) == ["runs:read", "runs:write"]


@pytest.mark.parametrize("scopes", [[], ["runs"], ["runs:read", "tokens:write"], ["RUNS:READ"]])
def test_it_refuses_unknown_scopes_by_name(scopes):
    with pytest.raises(DomainError) as caught:
        check(scopes)
    assert caught.value.errors[0]["loc"] == ["body", "scopes"]
