"""The SDK of Benchwright: ``from benchwright import Benchwright``.

Names are loaded when first used, so that the command line starts without the HTTP library.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._objects import Object
    from ._pages import LazyList, Page
    from .client import Benchwright
    from .errors import APIConnectionError, APIError, BenchwrightError, NeedsInput, WaitTimeout

__version__ = "0.1.0"

_NAMES = {
    "Benchwright": ".client",
    "Object": "._objects",
    "Page": "._pages",
    "LazyList": "._pages",
    "BenchwrightError": ".errors",
    "APIError": ".errors",
    "APIConnectionError": ".errors",
    "NeedsInput": ".errors",
    "WaitTimeout": ".errors",
}

__all__ = [
    "APIConnectionError",
    "APIError",
    "Benchwright",
    "BenchwrightError",
    "LazyList",
    "NeedsInput",
    "Object",
    "Page",
    "WaitTimeout",
]


def __getattr__(name: str) -> Any:
    if name not in _NAMES:
        raise AttributeError(f"module 'benchwright' has no attribute {name!r}")
    return getattr(import_module(_NAMES[name], __name__), name)
