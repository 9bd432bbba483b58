"""Every driver by name. A model that is named as driver is driven by ``llm``."""

from kernel.table import Table
from runs.driver.base import Driver
from runs.models import Run

DRIVERS = Table("driver", {"builtin": "runs.driver.builtin:Builtin", "llm": "runs.driver.llm.driver:Llm"})


def driver_of(run: Run) -> Driver:
    """The run's driver. KeyError where the table does not know it."""
    made: Driver = DRIVERS["builtin" if not run.driver else "llm"]()
    return made
