"""Sealed tokens: only ours, only whole, only in their context."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernel import sealed


@given(st.binary(max_size=200), st.binary(max_size=50))
def test_it_opens_what_it_sealed(plain, context):
    assert sealed.unseal(sealed.seal(plain, context), context) == plain


def test_it_refuses_every_edit_of_one_character():
    token = sealed.seal(b"after row 5", b"here")
    for position in range(len(token)):
        edited = token[:position] + ("A" if token[position] != "A" else "B") + token[position + 1 :]
        with pytest.raises(sealed.BadSeal):
            sealed.unseal(edited, b"here")


@pytest.mark.parametrize("token", ["", "a", "é", "=", "AAAA", "A" * 10_000, "a b", "../..", "\x00"])
def test_it_refuses_what_never_was_a_token(token):
    with pytest.raises(sealed.BadSeal):
        sealed.unseal(token, b"here")


def test_it_refuses_cut_and_padded_tokens_and_other_contexts():
    token = sealed.seal(b"x", b"here")
    for wrong, context in ((token[:-1], b"here"), (token + "=", b"here"), (token + "A", b"here"), (token, b"there")):
        with pytest.raises(sealed.BadSeal):
            sealed.unseal(wrong, context)


def test_keys_differ_by_purpose():
    assert sealed.derive("a") != sealed.derive("b")
