"""The strict JSON door: what passes, what does not, and where the fault is."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernel import strict_json
from kernel.errors import DomainError

text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"))
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | text,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(text, inner, max_size=4),
    max_leaves=20,
)


def refused(data: bytes) -> DomainError:
    with pytest.raises(DomainError) as caught:
        strict_json.loads(data)
    return caught.value


@given(values)
def test_it_reads_what_it_writes(value):
    assert strict_json.loads(strict_json.dumps(value)) == value


@given(values)
def test_it_writes_what_any_strict_reader_takes(value):
    def never(word):
        raise AssertionError(word)

    assert json.loads(strict_json.dumps(value), parse_constant=never) == value


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999", "-1e999"])
def test_a01_it_refuses_numbers_that_are_not_json_and_says_where(number):
    error = refused(b'{"a":{"b":[1,%s]}}' % number.encode())
    assert (error.code, error.errors[0]["loc"]) == ("malformed_json", ["body", "a", "b", 1])


def test_a02_it_refuses_repeated_keys_with_a_pointer():
    error = refused(b'{"x":1,"limits":{"cost":1,"cost":2}}')
    assert (error.code, error.errors[0]["loc"]) == ("malformed_json", ["body", "limits", "cost"])
    assert "/limits/cost" in error.detail
    assert refused(b'{"limits":{},"limits":{}}').errors[0]["loc"] == ["body", "limits"]


def test_it_finds_repeated_keys_among_very_many_in_linear_time():
    keys = ",".join(f'"k{number}":0' for number in range(200_000))
    assert refused(f'{{{keys},"k199999":1}}'.encode()).code == "malformed_json"


@pytest.mark.parametrize(
    ("body", "where"),
    [
        (rb'{"m":{"a":"x\u0000y"}}', ["body", "m", "a"]),
        (rb'{"m":["\ud800"]}', ["body", "m", 0]),
        (rb'{"m":["\udc00\ud800"]}', ["body", "m", 0]),
        (rb'{"\u0000k":1}', ["body", "\ufffdk"]),
        (rb'{"\uDFFF":1}', ["body", "\ufffd"]),
    ],
)
def test_a04_it_refuses_nul_and_lone_surrogates_in_strings_and_keys(body, where):
    error = refused(body)
    assert (error.code, error.errors[0]["loc"]) == ("validation_failed", where)
    strict_json.dumps(error.document("r"))  # the refusal itself can be said


def test_it_takes_surrogate_pairs_and_text_that_only_looks_like_an_escape():
    assert strict_json.loads(rb'"\ud83d\ude00"') == "\U0001f600"
    assert strict_json.loads(rb'"\\u0000"') == "\\u0000"


def test_a05_it_refuses_integers_with_thousands_of_digits():
    error = refused(b'{"a":' + b"9" * 5000 + b"}")
    assert (error.code, error.errors[0]["loc"]) == ("validation_failed", ["body", "a"])


def test_it_keeps_every_digit_of_a_large_integer():
    assert strict_json.loads(b"123456789012345678901234567890") == 123456789012345678901234567890


@pytest.mark.parametrize(
    "body",
    [b"", b" ", b"{", b"[1,]", b"{'a':1}", b"\xff", b"\xef\xbb\xbf{}", b'"a\nb"', b"[1] 2", b"\xed\xa0\x80", b"nul"],
)
def test_it_refuses_what_is_not_json_or_not_utf8(body):
    assert refused(body).code == "malformed_json"


def test_it_bounds_the_depth():
    assert strict_json.loads(b"[" * 100 + b"]" * 100)
    for deep in (101, 500, 100_000):
        assert refused(b"[" * deep + b"]" * deep).code == "malformed_json"
        assert refused(b'{"a":' * deep + b"1" + b"}" * deep).code == "malformed_json"


@pytest.mark.parametrize(
    "value", [math.nan, math.inf, -math.inf, [math.nan], {"a": -math.inf}, "\ud800", {"\udfff": 1}]
)
def test_it_writes_neither_nan_nor_surrogates(value):
    with pytest.raises(ValueError):
        strict_json.dumps(value)
    strict_json.loads(strict_json.dumps(strict_json.clean(value)))


def test_it_cleans_what_a_model_wrote():
    assert strict_json.clean({"\x00k": ["a\ud800b", math.nan, 1]}) == {"\ufffdk": ["a\ufffdb", None, 1]}


def test_it_writes_canonical_json_as_rfc_8785_shows():
    value = {
        "numbers": [333333333.33333329, 1e30, 4.50, 2e-3, 0.000000000000000000000000001],
        "string": '\u20ac$\u000f\nA\'B"\\\\"/',
        "literals": [None, True, False],
    }
    shown = (
        '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],'
        '"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}'
    )
    assert strict_json.canonical(value).decode() == shown


def test_it_sorts_canonical_keys_by_utf16():
    keys = ["\u20ac", "\r", "\ufb33", "1", "\U0001f600", "\x80", "\xf6"]
    shown = json.loads(
        strict_json.canonical(dict.fromkeys(keys)), object_pairs_hook=lambda pairs: [key for key, _ in pairs]
    )
    assert shown == ["\r", "1", "\x80", "\xf6", "\u20ac", "\U0001f600", "\ufb33"]


@pytest.mark.parametrize(
    ("number", "shown"),
    [(0.0, "0"), (-0.0, "0"), (1.0, "1"), (1e21, "1e+21"), (1e20, "100000000000000000000"), (1e-6, "0.000001"),
     (1e-7, "1e-7"), (5e-324, "5e-324"), (1.7976931348623157e308, "1.7976931348623157e+308"),
     (123456.789, "123456.789"),
     (9007199254740992.0, "9007199254740992"), (2**70, "1180591620717411303424"), (-1.5e-9, "-1.5e-9")],
)  # fmt: skip
def test_it_writes_canonical_numbers_as_ecmascript_does_but_keeps_integers_whole(number, shown):
    assert strict_json.canonical(number).decode() == shown


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_it_loses_nothing_of_a_float(number):
    assert float(strict_json.canonical(number)) == number


@given(values)
def test_canonical_bytes_do_not_depend_on_key_order(value):
    def turned(node):
        if isinstance(node, dict):
            return {key: turned(node[key]) for key in reversed(node)}
        return [turned(child) for child in node] if isinstance(node, list) else node

    assert strict_json.canonical(turned(value)) == strict_json.canonical(value)


def test_it_writes_pointers_as_rfc_6901_does():
    assert strict_json.pointer(["a/b", "m~n", 0]) == "/a~1b/m~0n/0"
