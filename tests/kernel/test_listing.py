"""List requests: limits, sorts and filters."""

from datetime import UTC, datetime

import pytest
from django.http import QueryDict

from kernel import listing
from kernel.errors import DomainError

FILTERS = {
    "status": listing.text,
    "started_at": listing.time,
    "metadata": listing.json,
    "passed": listing.flag,
    "trial": listing.whole,
}


def parsed(query: str, **more):
    return listing.parse(QueryDict(query), sorts=("created_at", "started_at"), filters=FILTERS, **more)


def refused(query: str) -> DomainError:
    with pytest.raises(DomainError) as caught:
        parsed(query)
    return caught.value


@pytest.mark.parametrize(
    ("raw", "limit"),
    [("", 50), ("limit=", 50), ("limit=0", 50), ("limit=000", 50), ("limit=1", 1), ("limit=1000", 1000),
     ("limit=1001", 1000), ("limit=1000000000", 1000), ("limit=" + "9" * 6000, 1000)],
)  # fmt: skip
def test_a15_it_takes_the_default_for_nothing_and_the_maximum_for_too_much(raw, limit):
    assert parsed(raw).limit == limit


@pytest.mark.parametrize("raw", ["-1", "abc", "1.5", "1e3", "٣", "0x10", "1_000", " 1"])
def test_a15_it_refuses_limits_that_are_negative_or_no_number(raw):
    error = refused(f"limit={raw}")
    assert (error.code, error.errors[0]["loc"]) == ("invalid_parameter", ["query", "limit"])


def test_it_reads_filters_with_their_types():
    query = parsed("status=ok&started_at[gte]=2026-04-01T09:15:23Z&metadata[sweep]=a&passed=false&trial[lt]=3")
    assert query.filters == (
        listing.Filter("status", "ok"),
        listing.Filter("started_at", datetime(2026, 4, 1, 9, 15, 23, tzinfo=UTC), "gte"),
        listing.Filter("metadata", "a", key="sweep"),
        listing.Filter("passed", False),
        listing.Filter("trial", 3, "lt"),
    )
    assert query.value("status") == "ok"
    assert query.value("started_at") is None


def test_a_bare_plus_in_a_time_zone_is_understood():
    assert parsed("started_at=2026-04-01T09:00:00+02:00").filters[0].value == datetime(2026, 4, 1, 7, tzinfo=UTC)


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("colour=red", "invalid_filter"),
        ("status[gte]=a", "invalid_filter"),
        ("metadata=a", "invalid_filter"),
        ("started_at[near]=2026-01-01", "invalid_filter"),
        ("started_at[gte][lt]=2026-01-01", "invalid_filter"),
        ("status__contains=a", "invalid_filter"),
        ("started_at=yesterday", "invalid_parameter"),
        ("passed=1", "invalid_parameter"),
        ("trial=one", "invalid_parameter"),
        ("trial=99999999999999999999", "invalid_parameter"),
        ("status=%00", "invalid_parameter"),
        ("sort=owner", "invalid_sort"),
        ("sort=--created_at", "invalid_sort"),
        ("sort=created_at,id", "invalid_sort"),
        ("limit=1&limit=100", "invalid_parameter"),
        ("status=a&status=b", "invalid_parameter"),
    ],
)
def test_it_refuses_what_it_does_not_know(query, code):
    assert refused(query).code == code


def test_it_names_the_nearest_filter():
    assert "Did you mean status?" in refused("statsu=ok").detail


def test_it_keeps_the_parameters_that_the_caller_reads_itself():
    query = parsed("subset=sub_1&sort=-started_at&page_token=x", extra=("subset",))
    assert (query.extra, query.sort, query.token) == ({"subset": "sub_1"}, "-started_at", "x")


def test_the_signature_tells_queries_apart_but_not_their_order_or_limit():
    one = parsed("status=ok&trial=1&limit=5")
    assert one.signature() == parsed("trial=1&status=ok&limit=9").signature()
    for other in ("status=ok", "status=ok&trial=2", "status=ok&trial=1&sort=started_at", "status=ok&trial[gte]=1"):
        assert one.signature() != parsed(other).signature()
