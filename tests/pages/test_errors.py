"""The pages for what went wrong: they lead on, keep the request id, and repeat nothing unescaped."""

import pytest
from django.template.loader import render_to_string
from django.test import Client


@pytest.mark.django_db
@pytest.mark.parametrize(
    "path",
    [
        "/runs/none",
        "/nothing/here",
        "/runs/%3Cscript%3Ealert(1)%3C%2Fscript%3E",
        "/%22%3E%3Cimg%20src=x%20onerror=alert(1)%3E",
    ],
)
def test_k11_an_unknown_page_leads_on_and_repeats_nothing(path: str) -> None:
    answer = Client().get(path)
    page = answer.content.decode()
    assert answer.status_code == 404
    assert "Nothing here" in page
    assert "<script>alert" not in page
    assert "<img src=x" not in page
    assert f"<code>{answer.headers['X-Request-Id']}</code>" in page
    assert 'href="/accounts/login/?next=/' in page


@pytest.mark.parametrize("name", ["404.html", "403.html", "403_csrf.html", "500.html"])
def test_it_can_always_be_shown(name: str) -> None:
    """Where the trouble is deep there is neither request nor user to speak of."""
    page = render_to_string(name)
    assert "</html>" in page
    assert "Sign in" in page


@pytest.mark.django_db
def test_it_forbids_what_the_pages_do_not_need() -> None:
    policy = Client().get("/accounts/login/").headers["Content-Security-Policy"]
    assert "script-src 'self'" in policy
    assert "unsafe" not in policy
