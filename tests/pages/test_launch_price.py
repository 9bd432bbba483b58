"""What the launch button says that a run costs, and that the page of a run says the same of its replay."""

import re

import pytest
from django.test import Client

from accounts.models import User
from runs.models import Run
from secrets_vault.models import Connection
from tests.factories import runs as make
from tests.pages.test_views import text

pytestmark = pytest.mark.django_db
DEAR = {"input": 100_000_000_000, "output": 100_000_000_000, "cached_input": 100_000_000_000}  # $1,000 a million
NOTHING = {"input": 0, "output": 0, "cached_input": 0}


@pytest.fixture
def dear(alice: User) -> Connection:
    return Connection.objects.create(
        id="con_dear", owner=alice, name="dear", kind="ai_model", provider="simulated", prices={"echo": DEAR}
    )


def button(browser: Client, query: str) -> str:
    page = browser.get(f"/runs/new?{query}").content.decode()
    return re.findall(r'id="price">([^<]*)<', page)[0]


def stopped(owner: User, dear: Connection) -> Run:
    """Halted at 7 of 30 tasks after $0.088."""
    sut = {"model": "echo", "provider": "simulated", "connection": dear.pk, "params": {}}
    run = make.run(owner, make.benchmark(owner, tasks=30), planned=30, sut=sut)
    make.start(run)
    make.results(run, ["passed"] * 7)
    Run.objects.filter(id=run.id).update(cost_model=8_800_000)
    run.refresh_from_db()
    make.end(run, "halted", halt_reason="user")
    return run


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("model=echo&provider=simulated", "free"),
        ("model=echo&provider=local", "free"),
        ("model=echo&provider=con_dear", "price unknown, no ceiling"),
        ("provider=con_dear", "price unknown, no ceiling"),
        ("model=another&provider=con_dear", "free"),
        ("model=echo&provider=con_dear&cost=0.5", "at most $0.5"),
        ("model=gpt-4o&provider=openai", "price unknown, no ceiling"),
        ("model=gpt-4o&provider=openai&cost=2", "at most $2"),
    ],
)
def test_only_what_can_cost_nothing_is_called_free(browser: Client, dear: Connection, query: str, said: str) -> None:
    assert button(browser, query) == said


def test_a_price_of_nothing_is_free(browser: Client, dear: Connection) -> None:
    Connection.objects.filter(pk=dear.pk).update(provider="openai", prices={"*": NOTHING})
    assert button(browser, "model=gpt-4o&provider=con_dear") == "free"


def test_a_replay_of_a_stopped_run_costs_what_all_its_cells_would(
    browser: Client, alice: User, dear: Connection
) -> None:
    run = stopped(alice, dear)
    assert "byte for byte. Likely cost ≈ $0.38." in text(browser, f"/runs/{run.id}")
    assert "Likely cost ≈ $0.38" in text(browser, f"/runs/new?replay={run.id}")
    assert button(browser, f"replay={run.id}") == "≈ $0.38, no ceiling"


def test_a_replay_is_judged_by_its_parent_and_not_by_a_later_run(
    browser: Client, alice: User, dear: Connection
) -> None:
    run = stopped(alice, dear)
    later = make.run(alice, run.impl, planned=30, sut=run.sut)
    make.start(later)
    make.results(later, ["passed"] * 30)
    make.end(later)
    Run.objects.filter(id=later.id).update(cost_model=900_000_000)
    assert button(browser, f"replay={run.id}") == "≈ $0.38, no ceiling"
