"""What may be kept by browsers and caches, and which files are never served."""

import pytest

pytestmark = pytest.mark.django_db
PRIVATE_PAGES = ["/manage/tokens", "/runs", "/v1/me", "/v1/runs", "/admin/", "/accounts/password/change/"]


@pytest.mark.parametrize("path", PRIVATE_PAGES)
def test_k09_what_was_made_for_somebody_is_not_stored(client, alice, token, path):
    client.force_login(alice)
    answer = client.get(path, headers={"authorization": f"Bearer {token(alice)}"} if path.startswith("/v1") else {})
    assert "no-store" in answer["Cache-Control"]


@pytest.mark.parametrize(
    "ending",
    ["x.css", "tokens/x.css", "tokens;x.css", "tokens%2fx.css", "tokens.css", "tokens%00.css", "tokens/..%2fx.png",
     "tokens%0a.css", "tokens%3fx.css"],
)  # fmt: skip
def test_k09_a_private_page_has_no_name_that_a_cache_would_keep(client, alice, ending):
    """Web-cache deception: a page under a name that looks like a file."""
    client.force_login(alice)
    answer = client.get(f"/manage/{ending}")
    assert answer.status_code == 404
    assert "no-store" in answer["Cache-Control"]


def test_k09_what_is_public_says_on_what_it_depends(client, things, alice):
    """An answer without a token is not stored either: the same address answers its owner more."""
    answer = client.get("/v1/registry/benchmarks")
    assert answer.status_code == 200
    assert "no-store" in answer["Cache-Control"]


@pytest.mark.parametrize(
    "path",
    [
        "/static/../manage.py", "/static/..%2fmanage.py", "/static/%2e%2e/manage.py", "/static/%2e%2e%2fmanage.py",
        "/static/..%5cmanage.py", "/static//etc/passwd", "/static/%2fetc%2fpasswd", "/static/....//manage.py",
        "/static/%252e%252e/manage.py", "/static/%c0%ae%c0%ae/manage.py", "/static/components.css%00.html",
        "/.git/config", "/.git/HEAD", "/.env", "/.data/keys/django", "/static/.env", "/static/.git/config",
        "/manage.py", "/pyproject.toml", "/benchwright_site/settings.py", "/static/admin/../../manage.py",
        "/server-status", "/.htaccess",
        "/static/components.css.map", "/static/live.js.map", "/package.json", "/db.sqlite3", "/static/", "/static",
    ],
)  # fmt: skip
def test_k10_no_file_but_our_own_static_ones_is_served(client, path):
    answer = client.get(path)
    assert answer.status_code == 404
    text = (b"".join(answer.streaming_content) if answer.streaming else answer.content).decode()
    assert "root:" not in text
    assert "DJANGO_SETTINGS_MODULE" not in text
    assert "[core]" not in text
