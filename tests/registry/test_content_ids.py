"""Ids made of content."""

import json
from hashlib import sha256

from hypothesis import given
from hypothesis import strategies as st

from kernel import strict_json
from registry.content_ids import impl_id, row_digest, subset_id

ROW = st.dictionaries(
    st.text(min_size=1, max_size=5),
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    max_size=5,
).filter(lambda row: not any("\ud800" <= sign <= "\udfff" for sign in json.dumps(row, ensure_ascii=False)))
HOSTS = st.lists(st.sampled_from(["a.example", "b.example", "c.example"]), max_size=4)


NESTED = st.recursive(ROW, lambda inner: st.dictionaries(st.text("a\uffee\U0001f600", max_size=2), inner, max_size=3))


@given(ROW | NESTED)
def test_it_digests_the_canonical_form(row):
    assert row_digest(row) == sha256(strict_json.canonical(row)).hexdigest()


@given(ROW)
def test_it_ignores_the_order_of_keys(row):
    assert row_digest(dict(reversed(list(row.items())))) == row_digest(row)


@given(ROW, ROW)
def test_it_tells_different_rows_apart(one, other):
    same = json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)
    if same:
        assert row_digest(one) == row_digest(other)
    elif one != other:
        assert row_digest(one) != row_digest(other)


def test_it_keeps_every_digit_of_big_integers():
    assert row_digest({"n": 2**60}) != row_digest({"n": 2**60 + 1})


@given(st.lists(ROW, min_size=1, max_size=5), st.integers(0, 4))
def test_it_depends_on_benchmark_rows_and_their_order(rows, cut):
    digests = [row_digest(row) for row in rows]
    whole = subset_id("bm_1", digests)
    assert whole == subset_id("bm_1", iter(digests))
    assert whole.startswith("sub_")
    assert len(whole) <= 80
    assert whole != subset_id("bm_2", digests)
    assert whole != subset_id("bm_1", digests[:-1])
    turned = digests[cut:] + digests[:cut]
    assert (subset_id("bm_1", turned) == whole) == (turned == digests)


@given(st.text(), st.floats(0, 1), HOSTS)
def test_an_impl_is_all_that_decides_a_score(code, threshold, hosts):
    code = code.encode("utf-8", "replace").decode()
    made = impl_id("sub_1", code, threshold, hosts, None, "batch")
    assert made == impl_id("sub_1", code, threshold, list(reversed(hosts)), None, "batch")
    assert made.startswith("imp_")
    others = {
        impl_id("sub_2", code, threshold, hosts, None, "batch"),
        impl_id("sub_1", code + " ", threshold, hosts, None, "batch"),
        impl_id("sub_1", code, threshold / 2 + 0.3, hosts, None, "batch") if threshold != 0.6 else "",
        impl_id("sub_1", code, threshold, [*hosts, "d.example"], None, "batch"),
        impl_id("sub_1", code, threshold, hosts, {"model": "m"}, "batch"),
        impl_id("sub_1", code, threshold, hosts, None, "task"),
    }
    assert made not in others
    assert len(others) == 6


def test_it_takes_a_whole_threshold_for_the_same_number():
    assert impl_id("s", "c", 1, [], None, "batch") == impl_id("s", "c", 1.0, [], None, "batch")
