"""The two doors: tokens on one, sessions on the other, and no route on both."""

import re

import pytest
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver

from accounts import manage_api
from accounts.door import TokenAuth
from accounts.scopes import SCOPES
from benchwright_site import problems
from benchwright_site.api import api


def routes(patterns=None, before=""):
    for pattern in patterns if patterns is not None else get_resolver().url_patterns:
        route = before + str(pattern.pattern).lstrip("^")
        if isinstance(pattern, URLResolver):
            yield from routes(pattern.url_patterns, route)
        elif isinstance(pattern, URLPattern):
            yield route, pattern


def filled(route: str) -> str:
    return "/" + re.sub(r"<[^>]*>", "01980000-0000-7000-8000-000000000000", route)


def operations():
    for router in api._get_bound_routers():
        for path, view in router.path_operations.items():
            for operation in view.operations:
                yield path, operation


def test_every_operation_takes_tokens_and_nothing_else():
    found = list(operations())
    assert found
    for path, operation in found:
        assert operation.auth_callbacks, f"{path} is open to everybody"
        for auth in operation.auth_callbacks:
            assert type(auth) is TokenAuth, f"{path} has another lock"
            assert set(auth.scopes) <= set(SCOPES), f"{path} asks for a scope that no token can have"


def test_every_post_that_creates_or_costs_answers_once_per_key():
    """The others may be repeated as they are: they lead to the same state."""
    repeatable = {"/runs/{run_id}/halt", "/runs/{run_id}/publish", "/tokens", "/tokens/{path:rest}", "/leaked_tokens"}
    without = {
        path
        for path, operation in operations()
        if "POST" in operation.methods and not getattr(operation.view_func, "answers_once", False)
    }
    assert without <= repeatable


def test_only_rows_and_code_may_be_large():
    large = {path for path, operation in operations() if getattr(operation.view_func, "body_limit", 0) > 1 << 20}
    assert large == {"/benchmarks/{benchmark_id}/subsets", "/subsets/{subset_id}/tasks", "/impls"}


def test_no_path_is_served_twice():
    paths = [re.sub(r"{[^}]*}", "{}", path) for router in api._get_bound_routers() for path in router.path_operations]
    assert len(paths) == len(set(paths))


def test_every_session_view_pins_its_lock():
    views = [pattern.callback.view_class for route, pattern in routes() if route.startswith("manage/api/")]
    assert views
    for view in views:
        assert issubclass(view, manage_api.SessionDoor)
        assert view.authentication_classes == manage_api.SessionDoor.authentication_classes
        assert [one.__name__ for one in view.authentication_classes] == ["SessionAuthentication"]


@pytest.mark.django_db
def test_no_api_route_accepts_a_session(carol):
    """With a session's cookie each route says what it says to nobody."""
    browser, nobody = Client(), Client()
    browser.force_login(carol)
    walked = 0
    for route, _ in routes():
        if not route.startswith("v1/"):
            continue
        for method in ("GET", "POST", "PUT", "PATCH", "DELETE"):
            sent = (method, filled(route), b"{}", "application/json")
            headers = {"X-Request-Id": "r1"}
            answer, open_answer = (one.generic(*sent, headers=headers) for one in (browser, nobody))
            assert answer.status_code == open_answer.status_code, f"{method} {route}"
            assert answer.content == open_answer.content, f"{method} {route}"
            assert "Set-Cookie" not in answer
            walked += answer.status_code == 401
    assert walked > 10


@pytest.mark.django_db
def test_no_session_route_accepts_a_token(carol, token):
    text = token(carol)
    walked = 0
    for route, _ in routes():
        if not route.startswith("manage"):
            continue
        walked += 1
        for method in ("GET", "POST", "PUT", "PATCH", "DELETE"):
            answer = Client().generic(method, filled(route), b"{}", headers={"authorization": f"Bearer {text}"})
            refused = answer.status_code in (403, 405)
            sent_to_sign_in = answer.status_code == 302 and answer["Location"].startswith("/accounts/login/")
            assert refused or sent_to_sign_in, f"{method} {route}: {answer.status_code}"
    assert walked >= 7


def test_two_routes_of_one_shape_must_name_their_parameters_alike():
    from ninja import NinjaAPI, Router  # noqa: PLC0415
    from ninja.errors import ConfigError  # noqa: PLC0415

    from benchwright_site.api import merge_paths  # noqa: PLC0415

    one, two = Router(), Router()
    one.get("/runs/{run_id}", auth=None)(lambda request, run_id: None)
    two.delete("/runs/{run}", auth=None)(lambda request, run: None)
    made = NinjaAPI(urls_namespace="clash")
    made.add_router("", one)
    made.add_router("", two)
    with pytest.raises(ConfigError, match="name the parameters alike"):
        merge_paths(made._get_bound_routers())


@pytest.mark.parametrize(
    "path",
    [
        "/v1/billing/balance", "/v1/webhooks",
        "/v1/settings", "/v1/compare", "/v1/build/subsets",
        "/v1/registry/subsets/sub_1/leaderboard", "/v1/registry/benchmarks/bm_1/range",
    ],
)  # fmt: skip
def test_what_is_to_come_says_so_and_what_is_unknown_does_not(path):
    answer = Client().get(path)
    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
    assert "not available yet" in answer.json()["detail"]
    unknown = Client().get(path.replace("/v1/", "/v1/no-")).json()
    assert "not available yet" not in unknown["detail"]


def test_nothing_that_is_served_is_told_as_to_come():
    told = [path for path, _ in operations() if problems.TO_COME.fullmatch("/v1" + path)]
    assert told == []
