"""The check of a webhook's signature, without HTTP."""

import hashlib
import hmac
import json
import time

import pytest

from benchwright import Benchwright
from benchwright.errors import SignatureError

SECRET = "whsec_1"
BODY = json.dumps({"type": "run.finished", "data": {"id": "r"}}).encode()


def sign(body: bytes = BODY, secret: str = SECRET, at: float | None = None) -> tuple[str, str]:
    stamp = str(int(time.time() if at is None else at))
    return stamp, hmac.new(secret.encode(), f"{stamp}.".encode() + body, hashlib.sha256).hexdigest()


def test_a_good_signature_gives_the_event(bw: Benchwright) -> None:
    stamp, digest = sign()
    event = bw.webhooks.construct_event(BODY, f"t={stamp},v1={digest}", SECRET)
    assert event.data.id == "r"
    assert bw.webhooks.construct_event(BODY.decode(), f"t={stamp}, v1={digest}", SECRET) == event


def test_any_of_several_signatures_will_do(bw: Benchwright) -> None:
    stamp, digest = sign()
    assert bw.webhooks.construct_event(BODY, f"t={stamp},v1={'0' * 64},v1={digest},v0=x", SECRET)


@pytest.mark.parametrize("age", [-301, 301])
def test_old_and_future_ones_are_refused(age: int, bw: Benchwright) -> None:
    stamp, digest = sign(at=time.time() + age)
    with pytest.raises(SignatureError, match="300 s"):
        bw.webhooks.construct_event(BODY, f"t={stamp},v1={digest}", SECRET)
    assert bw.webhooks.construct_event(BODY, f"t={stamp},v1={digest}", SECRET, tolerance=400)


def test_wrong_ones_are_refused(bw: Benchwright) -> None:
    stamp, digest = sign()
    for body, header, secret in [
        (BODY + b" ", f"t={stamp},v1={digest}", SECRET),
        (BODY, f"t={stamp},v1={digest}", "other"),
        (BODY, f"t={int(stamp) + 1},v1={digest}", SECRET),
        (BODY, f"t={stamp},v1=ünicode", SECRET),
    ]:
        with pytest.raises(SignatureError, match="does not match"):
            bw.webhooks.construct_event(body, header, secret)
    for header in ("", "v1=a", f"t={stamp}", f"t=x,v1={digest}", f"t={stamp},t=1,v1={digest}", "t=²,v1=a"):
        with pytest.raises(SignatureError, match="form"):
            bw.webhooks.construct_event(BODY, header, SECRET)
