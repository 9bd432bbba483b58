"""The admin looks, and changes nothing."""

import pytest
from django.test import Client

from registry.models import Benchmark, Impl, Task


@pytest.fixture
def staff(carol):
    client = Client()
    client.force_login(carol)
    return client


def test_it_lists_searches_and_shows(staff, author, scorer):
    sub = author.subset(author.benchmark("Find me")["id"])
    author.impl(sub["id"], label="<b>bold</b>")
    for name, query in (("benchmark", "Find"), ("subset", sub["id"]), ("task", "t1"), ("impl", sub["id"]),
                        ("implregistration", "bold")):  # fmt: skip
        listed = staff.get(f"/admin/registry/{name}/?q={query}")
        assert listed.status_code == 200
        assert b"1 " in listed.content
        assert b"<b>bold" not in listed.content
        assert staff.get(f"/admin/registry/{name}/add/").status_code == 403
    mark = Benchmark.objects.get()
    shown = staff.get(f"/admin/registry/benchmark/{mark.pk}/change/")
    assert shown.status_code == 200
    assert staff.post(f"/admin/registry/benchmark/{mark.pk}/change/", {"name": "x"}).status_code == 403
    assert staff.post(f"/admin/registry/impl/{Impl.objects.get().pk}/delete/", {"post": "yes"}).status_code == 403
    assert Task.objects.count() == 3
