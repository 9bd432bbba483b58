"""Find by rule: the request's words against the registry and the catalogue."""

from runs.context import Context, PhaseError
from runs.driver.base import Found

INSTEAD = "Pin a benchmark instead: benchmark=, with subset= and impl= where there are several."


async def find(context: Context) -> Found:
    """Raises Asks (several readings, or no model named), PhaseError ``unresolved_request``."""
    raise PhaseError("unresolved_request", "No benchmark could be made out in the request.", INSTEAD)
