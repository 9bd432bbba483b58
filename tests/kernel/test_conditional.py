"""ETags and the headers that carry them."""

import pytest
from django.test import RequestFactory

from kernel import conditional
from kernel.errors import DomainError

TAG = conditional.etag("run", 1)


def request(**headers):
    return RequestFactory().get("/", headers={name.replace("_", "-"): value for name, value in headers.items()})


def test_tags_are_strong_quoted_and_follow_the_value():
    assert TAG.startswith('"')
    assert TAG.endswith('"')
    assert conditional.etag("run", 1) == TAG != conditional.etag("run", 2)
    assert conditional.etag({"a": 1, "b": 2}) == conditional.etag({"b": 2, "a": 1})


@pytest.mark.parametrize("sent", [None, "*", TAG, f'"x", {TAG}'])
def test_it_lets_a_matching_change_pass(sent):
    conditional.check_match(request(**({} if sent is None else {"if_match": sent})), TAG)


@pytest.mark.parametrize("sent", ['"x"', f"W/{TAG}", "", TAG.strip('"'), f'"{TAG}'])
def test_it_refuses_a_change_of_what_was_not_read(sent):
    with pytest.raises(DomainError) as caught:
        conditional.check_match(request(if_match=sent), TAG)
    assert caught.value.code == "precondition_failed"


@pytest.mark.parametrize(("sent", "same"), [("*", True), (TAG, True), (f"W/{TAG}", True), ('"x"', False), ("", False)])
def test_it_knows_what_the_caller_has_already(sent, same):
    assert conditional.not_modified(request(if_none_match=sent), TAG) is same


def test_without_the_header_everything_is_new():
    assert not conditional.not_modified(request(), TAG)
