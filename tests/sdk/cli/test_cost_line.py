"""What a run cost, as the command line says it."""

from typing import Any

import pytest

from benchwright.cli.watch.cost_line import cost_line


def dollars(amount: str) -> dict[str, Any]:
    return {"amount_cents": 0, "amount": amount, "currency": "USD"}


@pytest.mark.parametrize(
    ("driver", "said"),
    [
        (dollars("0.00000000"), "cost: $0.21 at the provider, $0.00 billed by Benchwright"),
        (dollars("0.05000000"), "cost: $0.21 at the provider, $0.05 for driver and judge, $0.00 billed by Benchwright"),
        (None, "cost: $0.21 at the provider, price unknown for driver and judge, $0.00 billed by Benchwright"),
    ],
)
def test_it_tells_what_driver_and_judge_cost(driver: Any, said: str) -> None:
    costs = {"model": dollars("0.21000000"), "billed": dollars("0.00000000"), "driver": driver}
    assert cost_line({"cost": costs}, {}) == said
