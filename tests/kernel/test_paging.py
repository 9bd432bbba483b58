"""Keyset paging over real rows: each once, in order, whatever happens between the pages."""

from datetime import timedelta

import pytest
from django.http import QueryDict
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from accounts.models import PersonalAccessToken
from kernel import clock, ids, listing, paging
from kernel.errors import DomainError

pytestmark = pytest.mark.django_db
SORTS = ("created_at", "expires_at", "name")


def token(owner, name="t", expires_in=None):
    made = ids.prefixed_ulid("pat")
    return PersonalAccessToken.objects.create(
        id=made,
        owner=owner,
        name=name,
        digest=made.encode()[-32:].rjust(32),
        last4="0000",
        scopes=["runs:read"],
        expires_at=None if expires_in is None else clock.now() + timedelta(days=expires_in),
    )


def page(query="", owner_id=1, route="tokens"):
    asked = listing.parse(QueryDict(query), sorts=SORTS, filters={"name": listing.text})
    return paging.page(asked.apply(PersonalAccessToken.objects.all()), asked, scope=(owner_id, route))


def walk(query, limit):
    token, seen = "", []
    for _ in range(100):
        found = page(f"{query}&limit={limit}" + (f"&page_token={token}" if token else ""))
        seen += [row.id for row in found.rows]
        if found.next_page_token is None:
            return seen
        assert len(found.rows) == limit
        token = found.next_page_token
    raise AssertionError("no end")


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.sampled_from([None, 1, 2, 3]), min_size=1, max_size=9),
    st.integers(1, 4),
    st.sampled_from([sign + key for key in SORTS for sign in ("", "-")]),
)
def test_every_row_comes_once_and_in_order(alice, expiries, limit, sort):
    PersonalAccessToken.objects.all().delete()
    for number, days in enumerate(expiries):
        token(alice, name=f"n{number % 2}", expires_in=days)
    seen = walk(f"sort={sort}", limit)
    assert len(seen) == len(set(seen)) == len(expiries)
    rows = {row.id: row for row in PersonalAccessToken.objects.all()}
    values = [getattr(rows[one], sort.lstrip("-")) for one in seen]
    known = [value for value in values if value is not None]
    assert known == sorted(known, reverse=sort.startswith("-"))
    assert values[: len(known)] == known, "rows without a value come last"


def test_rows_that_come_and_go_between_pages_disturb_nobody(alice):
    rows = [token(alice) for _ in range(6)]
    first = page("limit=2")
    token(alice)
    rows[0].delete()
    second = page(f"limit=10&page_token={first.next_page_token}")
    assert [row.id for row in first.rows] == [rows[5].id, rows[4].id]
    assert [row.id for row in second.rows] == [rows[3].id, rows[2].id, rows[1].id]
    assert second.next_page_token is None


def test_a16_a_token_works_only_where_it_was_made(alice):
    for _ in range(3):
        token(alice, name="x")
    made = page("limit=1&name=x").next_page_token
    assert len(page(f"name=x&page_token={made}").rows) == 2
    wrong = [
        (f"name=x&page_token={made}", 2, "tokens"),  # another account
        (f"name=x&page_token={made}", 1, "runs"),  # another route
        (f"page_token={made}", 1, "tokens"),  # other filters
        (f"name=y&page_token={made}", 1, "tokens"),
        (f"name=x&sort=name&page_token={made}", 1, "tokens"),  # another sort
        (f"name=x&page_token={made[:-1]}", 1, "tokens"),  # cut
        (f"name=x&page_token={made[:-1]}{'A' if made[-1] != 'A' else 'B'}", 1, "tokens"),  # edited
        ("name=x&page_token=rubbish", 1, "tokens"),
    ]
    for query, owner, route in wrong:
        with pytest.raises(DomainError) as caught:
            page(query, owner, route)
        assert caught.value.code == "invalid_page_token"


def test_a_token_tells_nothing(alice):
    token(alice, name="secret-name")
    token(alice, name="secret-name")
    made = page("limit=1&sort=name").next_page_token
    assert made is not None
    assert "secret" not in made


def test_a_filter_on_a_json_key_takes_the_key_as_it_is(alice):
    rows = alice.preferences
    rows.create(key="a", value={"k__gt": "1"})
    rows.create(key="b", value={"k": "2", "n": 3})
    for query, expected in (
        ("value[k__gt]=1", ["a"]),
        ("value[k]=2", ["b"]),
        ("value[n]=3", ["b"]),
        ("value[k]=1", []),
    ):
        asked = listing.parse(QueryDict(query), filters={"value": listing.json})
        assert [row.key for row in asked.apply(rows.all())] == expected
