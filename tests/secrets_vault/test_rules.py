"""Patterns, hosts and masks."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernel.errors import DomainError
from secrets_vault import rules


@pytest.mark.parametrize(
    ("given_host", "kept"),
    [
        ("Api.OpenAI.com", "api.openai.com"),
        ("openrouter.ai.", "openrouter.ai"),
        ("bücher.example", "xn--bcher-kva.example"),
        ("127.0.0.1", "127.0.0.1"),
        ("[::1]", "::1"),
        ("localhost", "localhost"),
        ("my_host.example", "my_host.example"),
    ],
)
def test_it_normalises_hosts(given_host, kept):
    assert rules.normal_pattern(given_host) == kept


@pytest.mark.parametrize(
    "wrong",
    ["", "https://a.example", "a.example:443", "a.example/path", "a b.example", "*", "*.com", "*.co.uk", "*.github.io",
     "a.*.example", "-a.example", "a..example", "0x7f.1", "2130706433", "127.1", "*.127.0.0.1", "user@a.example",
     "a" * 300, "a.example\n", "*.*.example.com"],
)  # fmt: skip
def test_it_refuses_what_is_no_host(wrong):
    with pytest.raises(ValueError):
        rules.normal_pattern(wrong)


@pytest.mark.parametrize(
    "shared",
    ["com", "co.uk", "gov.br", "edu.cn", "go.jp", "foo.ck", "xn--p1ai", "github.io", "hf.space", "s3.amazonaws.com",
     "amazonaws.com", "azurewebsites.net", "openai.azure.com", "blogspot.com", "googleapis.com", "run.app", "fly.dev"],
)  # fmt: skip
def test_it_refuses_a_wildcard_below_which_many_own_hosts(shared):
    with pytest.raises(ValueError, match="many owners"):
        rules.normal_pattern(f"*.{shared}")


@pytest.mark.parametrize("own", ["example.com", "huggingface.co", "api.openai.com", "internal.corp", "me.github.io"])
def test_it_takes_a_wildcard_of_one_owner(own):
    assert rules.normal_pattern(f"*.{own.upper()}") == f"*.{own}"


def test_it_prefers_the_exact_host_then_the_longest_suffix():
    patterns = ["*.example.com", "*.api.example.com", "eu.api.example.com"]
    assert rules.most_specific(patterns, "eu.api.example.com") == "eu.api.example.com"
    assert rules.most_specific(patterns, "us.api.example.com") == "*.api.example.com"
    assert rules.most_specific(patterns, "x.example.com") == "*.example.com"
    assert rules.most_specific(patterns, "example.com") is None
    assert rules.most_specific(patterns, "evilexample.com") is None


@pytest.mark.parametrize("target", ["", "Bad Header", "X:Y", "Host", "content-length", "Transfer-Encoding", "a" * 121])
def test_it_refuses_targets_that_break_requests(target):
    with pytest.raises(DomainError):
        rules.check_rules([{"host_pattern": "a.example", "inject_kind": "header", "inject_target": target}])


def test_it_refuses_one_host_twice_in_a_secret():
    with pytest.raises(DomainError) as caught:
        rules.check_rules([{"host_pattern": "a.example"}, {"host_pattern": "A.example"}])
    assert caught.value.errors[0]["loc"] == ["body", "rules", 1, "host_pattern"]


@given(st.text(min_size=1, max_size=40))
def test_g02_a_preview_shows_four_characters_of_a_long_value_at_most(value):
    shown = rules.preview(value)
    assert len(shown) <= 8
    if len(value) < 16:
        assert shown == rules.MASK
