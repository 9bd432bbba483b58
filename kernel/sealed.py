"""Small opaque tokens that only this installation can make or read (page tokens). Keys derive from SECRET_KEY."""

import base64
import binascii
import hashlib
import hmac
import os

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from django.conf import settings


class BadSeal(ValueError):
    """Not ours, edited, cut, or made for another context."""


def derive(purpose: str) -> bytes:
    """A 32-byte key for one purpose."""
    return hmac.new(settings.SECRET_KEY.encode(), b"benchwright/" + purpose.encode(), hashlib.sha256).digest()


def seal(plain: bytes, context: bytes) -> str:
    """``plain`` encrypted and bound to ``context``, as URL-safe text."""
    nonce = os.urandom(12)
    box = AESGCM(derive("sealed")).encrypt(nonce, plain, context)
    return base64.urlsafe_b64encode(nonce + box).rstrip(b"=").decode()


def unseal(token: str, context: bytes) -> bytes:
    """What was sealed. Raises BadSeal."""
    try:
        raw = base64.b64decode(token.encode("ascii") + b"=" * (-len(token) % 4), altchars=b"-_", validate=True)
        plain: bytes = AESGCM(derive("sealed")).decrypt(raw[:12], raw[12:], context)
    except (InvalidTag, ValueError, UnicodeEncodeError, binascii.Error):
        raise BadSeal("not a token of this list") from None
    # Base64 has spare bits in its last character: one text per token, or an edit would pass.
    if base64.urlsafe_b64encode(raw).rstrip(b"=").decode() != token:
        raise BadSeal("not a token of this list")
    return plain
