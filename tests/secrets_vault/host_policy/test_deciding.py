"""The precedence of a host policy, line by line and against a second reading of it."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from secrets_vault.host_policy import Policy, builtin, decide

NONE = frozenset[str]()
OPEN = Policy("allow", NONE, NONE)
CLOSED = Policy("block", NONE, NONE)
HOST = "api.example.com"
COMMON = "raw.githubusercontent.com"


def policy(default: str = "allow", *, allow: str = "", block: str = "") -> Policy:
    return Policy(default, frozenset(allow.split()), frozenset(block.split()))


def passes(by: Policy, host: str = HOST, method: str = "GET", phase: str = "find", **sets: str) -> bool:
    named = {name: frozenset(hosts.split()) for name, hosts in sets.items()}
    return decide(
        by, host, method, phase, declared=named.get("declared", NONE), leased=named.get("leased", NONE)
    ).allowed


def test_it_blocks_what_nobody_names():
    assert not passes(OPEN)
    assert not passes(CLOSED)


@pytest.mark.parametrize("host", sorted(builtin.HOSTS))
def test_it_lets_find_and_analyze_read_the_built_in_set(host):
    for phase, method in product(["find", "analyze"], ["GET", "HEAD", "get"]):
        assert passes(OPEN, host, method, phase)
    for phase, method in product(["find", "analyze"], ["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "CONNECT", ""]):
        assert not passes(OPEN, host, method, phase)
    for phase in ["atomize", "materialize", "report", "", "Find"]:
        assert not passes(OPEN, host, "GET", phase)


def test_it_takes_exact_hosts_only_into_the_built_in_set():
    for near in ["gist.github.com", "github.com.evil.example", "evilgithub.com", "huggingface.co.evil.example"]:
        assert not passes(OPEN, near)
    assert not any(host.startswith("*") for host in builtin.HOSTS)


def test_it_lets_entries_leases_and_declarations_pass_in_every_phase():
    for phase, method in product(["find", "materialize"], ["GET", "POST", "DELETE"]):
        assert passes(policy(allow=HOST), HOST, method, phase)
        assert passes(OPEN, HOST, method, phase, leased=HOST)
        assert passes(OPEN, HOST, method, phase, declared=HOST)
        assert passes(OPEN, HOST, method, phase, leased="*.example.com")


def test_h19_block_as_the_default_with_no_entry_lets_nothing_pass():
    for host in [HOST, *builtin.HOSTS]:
        assert not passes(CLOSED, host, leased=host, declared=host)
    assert passes(policy("block", allow=HOST), HOST)
    assert not passes(policy("block", allow=HOST), COMMON)


def test_h19_block_beats_allow_whatever_is_more_specific():
    assert not passes(policy(allow=HOST, block=HOST))
    assert not passes(policy(allow=HOST, block="*.example.com"))
    assert not passes(policy(allow="*.example.com", block=HOST))
    assert passes(policy(allow="*.example.com", block=HOST), "other.example.com")


def test_h19_a_block_beats_the_built_in_set_a_lease_and_a_declaration():
    assert not passes(policy(block=COMMON), COMMON)
    assert not passes(policy(block="*.example.com"), leased=HOST, declared=HOST)


def test_it_reads_a_wildcard_as_below_and_never_as_itself():
    by = policy(allow="*.example.com")
    assert passes(by, "a.b.example.com")
    for other in ["example.com", "evilexample.com", "a.example.com.evil.example", "com"]:
        assert not passes(by, other)


@pytest.mark.parametrize(
    ("written", "same"),
    [("API.Example.COM", HOST), ("api.example.com.", HOST), ("ａｐｉ.example.com", HOST), ("api。example。com", HOST),
     ("bücher.example", "xn--bcher-kva.example"), ("[2001:DB8::0:1]", "2001:db8::1")],
)  # fmt: skip
def test_h04_it_judges_one_host_by_one_spelling(written, same):
    assert passes(policy(allow=same), written)
    assert not passes(policy(allow=same, block=same), written)


@pytest.mark.parametrize(
    "odd",
    ["", ".", "0x7f.1", "2130706433", "127.1", "0177.0.0.1", "%31.example.com", "a@api.example.com", "a#@evil",
     "api.example.com:443", "https://api.example.com", "api.example.com/", "api.example.com\t", " api.example.com",
     "api.example.com\n", "api..example.com", "api.example.com..", "*.example.com", "api\0.example.com", "a" * 300],
)  # fmt: skip
def test_h04_it_refuses_a_host_that_is_written_oddly(odd):
    wide = Policy("allow", frozenset({HOST, "*.example.com", "*.com", "*.1"}), NONE)
    verdict = decide(wide, odd, "GET", "find", declared=frozenset({odd}), leased=frozenset({odd}))
    assert not verdict.allowed
    assert "can't be judged" in verdict.reason


def test_it_reads_an_unknown_default_as_block():
    assert not passes(Policy("", NONE, NONE), COMMON)
    assert not passes(Policy("ALLOW", NONE, NONE), COMMON)


def test_it_says_why():
    def why(by: Policy, host: str = HOST, phase: str = "materialize", **sets: frozenset[str]) -> str:
        return decide(by, host, "GET", phase, **sets).reason

    assert why(policy(block="*.example.com")) == "your host policy blocks *.example.com"
    assert why(policy(allow=HOST)) == f"your host policy allows {HOST}"
    assert why(CLOSED) == "your host policy blocks every host that it does not name"
    assert "the scorer declares it" in why(OPEN, declared=frozenset({HOST}))
    assert "a secret of the run" in why(OPEN, leased=frozenset({HOST}))
    assert "has to declare" in why(OPEN, COMMON)
    assert "neither" in why(OPEN)


_HOSTS = st.sampled_from([HOST, "eu.api.example.com", "example.com", COMMON, "github.com", "x.test"])
_SETS = st.frozensets(
    st.sampled_from([HOST, "*.example.com", "*.api.example.com", COMMON, "github.com", "x.test"]), max_size=3
)


@given(
    st.sampled_from(["allow", "block"]), _SETS, _SETS, _SETS, _SETS, _HOSTS,
    st.sampled_from(["GET", "HEAD", "POST"]), st.sampled_from(["find", "analyze", "materialize"]),
)  # fmt: skip
def test_it_decides_as_the_documented_order_says(default, allow, block, declared, leased, host, method, phase):
    def named(patterns: frozenset[str]) -> bool:
        return any(host == each or (each[0] == "*" and host.endswith(each[1:])) for each in patterns)

    common = host in builtin.HOSTS and method != "POST" and phase != "materialize"
    opened = named(declared) or named(leased) or common
    expected = not named(block) and (named(allow) or (default == "allow" and opened))
    assert (
        decide(Policy(default, allow, block), host, method, phase, declared=declared, leased=leased).allowed is expected
    )


@given(_SETS, _SETS, _SETS, _HOSTS, st.sampled_from(["GET", "POST"]), st.sampled_from(["find", "materialize"]))
def test_it_opens_nothing_by_a_further_block(allow, block, more, host, method, phase):
    before = decide(Policy("allow", allow, block), host, method, phase).allowed
    after = decide(Policy("allow", allow, block | more), host, method, phase).allowed
    assert before or not after
