"""The real parts around a run."""

from tests.factories.processes import gateway, model, work

__all__ = ["gateway", "model", "work"]
