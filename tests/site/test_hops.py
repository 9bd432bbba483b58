"""Whose word counts for where a request came from."""

from ipaddress import ip_network

import pytest
from django.http import HttpResponse
from django.test import RequestFactory

from benchwright_site.middleware.hops import Hops

OURS = [ip_network("10.0.0.0/8"), ip_network("::1")]


def seen(peer, settings, networks=(), **headers):
    settings.TRUSTED_PROXIES = list(networks)
    found = {}

    def view(request):
        found.update(address=request.META["REMOTE_ADDR"], secure=request.is_secure(), host=request.get_host())
        found["left"] = [name for name in request.META if "FORWARDED" in name or name == "HTTP_X_REAL_IP"]
        return HttpResponse()

    Hops(view)(RequestFactory().get("/", REMOTE_ADDR=peer, headers={"host": "localhost", **headers}))
    return found


SPOOFED = {
    "x-forwarded-for": "203.0.113.9", "x-forwarded-host": "evil.example", "x-forwarded-proto": "https",
    "x-real-ip": "203.0.113.9", "forwarded": "for=203.0.113.9;proto=https",
}  # fmt: skip


@pytest.mark.parametrize("networks", [(), OURS])
def test_c19_a_strangers_word_counts_for_nothing(settings, networks):
    shown = seen("198.51.100.1", settings, networks, **SPOOFED)
    assert shown == {"address": "198.51.100.1", "secure": False, "host": "localhost", "left": []}


def test_c19_a_proxy_of_ours_tells_address_and_scheme_but_no_host(settings):
    shown = seen("10.1.2.3", settings, OURS, **SPOOFED)
    assert (shown["address"], shown["secure"], shown["host"]) == ("203.0.113.9", True, "localhost")


@pytest.mark.parametrize(
    ("forwarded", "address"),
    [
        ("203.0.113.9, 10.9.9.9", "203.0.113.9"),  # two hops of ours
        ("1.1.1.1, 203.0.113.9", "203.0.113.9"),  # what the caller claims of itself is left of what we heard
        ("10.0.0.1, 203.0.113.9", "203.0.113.9"),
        ("", "10.1.2.3"),
        ("nonsense", "10.1.2.3"),
        ("203.0.113.9, nonsense", "10.1.2.3"),
        ("2001:db8::1", "2001:db8::1"),
    ],
)
def test_c19_the_nearest_hop_that_is_not_ours_is_the_caller(settings, forwarded, address):
    assert seen("10.1.2.3", settings, OURS, **{"x-forwarded-for": forwarded})["address"] == address


def test_c19_only_the_nearest_scheme_counts(settings):
    assert not seen("10.1.2.3", settings, OURS, **{"x-forwarded-proto": "https, http"})["secure"]
    assert seen("10.1.2.3", settings, OURS, **{"x-forwarded-proto": "http, https"})["secure"]


@pytest.mark.django_db
def test_c19_a_spoofed_address_does_not_escape_its_rate(client, settings):
    settings.RATE_ADDRESS = 2
    found = [
        client.get("/v1/registry/benchmarks", headers={"X-Forwarded-For": f"203.0.113.{n}"}).status_code
        for n in range(3)
    ]
    assert found == [200, 200, 429]


@pytest.mark.django_db
@pytest.mark.parametrize("host", ["evil.example", "localhost.evil.example", "evil.example:80", "localhost@evil"])
@pytest.mark.parametrize("path", ["/v1/me", "/accounts/login/", "/runs"])
def test_c19_a_host_that_is_not_ours_is_not_answered(client, host, path):
    assert client.get(path, headers={"host": host}).status_code == 400


@pytest.mark.django_db
def test_c19_a_reset_link_goes_to_the_configured_address(client, alice, settings, mailoutbox):
    settings.ALLOWED_HOSTS = ["*"]
    settings.PUBLIC_URL = "https://bench.example.org"
    client.post("/accounts/password/reset/", {"email": alice.email}, headers={"host": "evil.example"})
    assert "https://bench.example.org/accounts/password/reset/key/" in mailoutbox[0].body
    assert "evil.example" not in mailoutbox[0].subject + mailoutbox[0].body
