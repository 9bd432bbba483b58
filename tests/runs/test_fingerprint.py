"""The fingerprint: equal where the same was asked the same way."""

from collections.abc import Callable

import pytest

from accounts.models import User
from tests.conftest import Api
from tests.factories import launched

pytestmark = pytest.mark.django_db


def test_j16_it_differs_with_what_decides_a_score(alice: User, bob: User, api: Callable[..., Api]) -> None:
    scorer = launched.catalogue(alice)
    door = api(alice)

    def of(**body: object) -> str:
        run = launched.launch(alice, scorer, **body)
        answer = door.get(f"runs/{run.id}/fingerprint")
        assert answer.status == 200
        return str(answer.json["sha256"])

    same = of()
    assert of(concurrency=3, metadata={"a": 1}, limits={"run": {"cost": 5}}) == same
    others = [
        of(trials=2),
        of(sut={**launched.LOCAL, "params": {"temperature": 1}}),
        of(sut="other@local"),
        of(metadata={"limit": 2}),
        of(limits={"attempt": {"duration": 5}}),
    ]
    assert len({same, *others}) == 6


def test_it_hides_with_its_run(alice: User, bob: User, api: Callable[..., Api]) -> None:
    run = launched.launch(alice)
    assert api(bob).get(f"runs/{run.id}/fingerprint").status == 404
    assert api(alice, "runs:write").get(f"runs/{run.id}/fingerprint").status == 403
    assert api(alice).get(f"runs/{run.id}/fingerprint?x=1").status == 400
