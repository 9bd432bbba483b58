"""What nobody needs any more."""

from datetime import timedelta

import pytest
from django.db.models.functions import Now

from accounts.idempotency import KEEP_DAYS
from accounts.models import IdempotencyRecord, User
from kernel.clock import now
from registry import uploads
from registry.models import Subset
from runs import sweeping, tidying
from tests.factories import launched


def test_the_sweeper_tidies_now_and_then(alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    def old_record() -> None:
        number = IdempotencyRecord.objects.count()
        made = IdempotencyRecord.objects.create(
            owner=alice, route="POST /v1/benchmarks", key=f"k{number}", fingerprint=b"", claimed_until=now()
        )
        IdempotencyRecord.objects.filter(pk=made.pk).update(created_at=Now() - timedelta(days=KEEP_DAYS + 1))

    old_record()
    left = launched.subset(launched.benchmark(alice), 1, state="staging")
    Subset.objects.filter(pk=left.pk).update(updated_at=now() - uploads.ABANDONED_AFTER - timedelta(minutes=1))
    monkeypatch.setattr(tidying, "_due", [0.0])
    sweeping.sweep()
    assert not IdempotencyRecord.objects.exists()
    assert not Subset.objects.exists()
    old_record()
    sweeping.sweep()
    assert IdempotencyRecord.objects.count() == 1, "not at every round"
